// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#include "target.h"
#define X4(x) struct { struct { struct { struct { x }; }; }; };
#define X16(x) X4(X4_(X4__(X4___(x))))
#define X4_(x) struct { struct { struct { struct { x }; }; }; };
#define X4__(x) struct { struct { struct { struct { x }; }; }; };
#define X4___(x) struct { struct { struct { struct { x }; }; }; };
#define Y16(x) struct { struct { struct { struct { struct { struct { struct { struct { struct { struct { struct { struct { struct { struct { struct { struct { x }; }; }; }; }; }; }; }; }; }; }; }; }; }; }; };
#define Z16(x) struct { struct { struct { struct { struct { struct { struct { struct { struct { struct { struct { struct { struct { struct { struct { struct { x }; }; }; }; }; }; }; }; }; }; }; }; }; }; }; };
#define W16(x) struct { struct { struct { struct { struct { struct { struct { struct { struct { struct { struct { struct { struct { struct { struct { struct { x }; }; }; }; }; }; }; }; }; }; }; }; }; }; }; };
struct dp { X16(Y16(Z16(W16(int a;)))) };
KEEP(dp, struct dp)
