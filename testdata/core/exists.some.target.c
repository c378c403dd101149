// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "target.h"
struct ex { int arr[2]; int inside; long s; int a; };
KEEP(ex, struct ex)
