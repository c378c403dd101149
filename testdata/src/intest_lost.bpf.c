// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// intest_lost: a test without a check.
#include "intest.h"

SETUP("tc", "nobody_looks")
int nobody_looks_setup(struct __sk_buff *ctx)
{
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
