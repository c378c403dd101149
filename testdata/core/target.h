/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A target is a set of types, compiled only for its BTF. KEEP puts a type (and a FUNC) into it. */
#ifndef TARGET_H
#define TARGET_H

#include "types.h"

#define KEEP(name, type)                                                                                              \
	int keep_##name(type *p)                                                                                      \
	{                                                                                                             \
		return p != 0;                                                                                        \
	}

#endif
