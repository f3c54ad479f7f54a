/* SPDX-License-Identifier: MIT */
/* One public header alone, twice: it brings all that it needs, and guards itself. meson.build
 * compiles this for each header, as C and (header_test.cpp) as C++. */
#include LLMPERF_TEST_HEADER
#include LLMPERF_TEST_HEADER

int main(void)
{
    return 0;
}
