/* SPDX-License-Identifier: MIT */
/* The same as C++. */
#include "header_test.c"
