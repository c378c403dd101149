#include "textflag.h"
#include "funcdata.h"

// func Enter(text, state uintptr)
//
// The frame is the stack of generated code: return addresses of its calls. Everything but SP may be changed; the wrapper
// of ABI0 functions restores what Go code expects in registers, and BP is saved with the frame.
TEXT ·Enter(SB), 0, $512-16
	NO_LOCAL_POINTERS
	MOVQ text+0(FP), AX
	CALL AX
	RET
