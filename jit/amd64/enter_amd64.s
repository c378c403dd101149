#include "textflag.h"
#include "funcdata.h"

// func Enter(text, state uintptr) (left uintptr)
//
// Generated code has its own stack and comes back with this one. Everything but SP may be changed: the wrapper
// of ABI0 functions restores what Go code expects in registers, and BP is saved with the frame. On this stack the
// code needs only its return address.
TEXT ·Enter(SB), NOSPLIT, $16-24
	NO_LOCAL_POINTERS
	MOVQ text+0(FP), AX
	CALL AX
	MOVQ AX, left+16(FP)
	RET
