/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "random_case.h"
