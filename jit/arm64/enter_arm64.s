#include "textflag.h"
#include "funcdata.h"

// func Enter(text, state uintptr) (left uintptr)
//
// Generated code leaves R18, R28 (g), R29 and RSP alone; functions of ABI0 may change all others. Its own frames lie in the State.
TEXT ·Enter(SB), 0, $16-24
	NO_LOCAL_POINTERS
	MOVD text+0(FP), R10
	MOVD state+8(FP), R22
	CALL (R10)
	MOVD R22, left+16(FP)
	RET

// func Sync(start, end uintptr)
//
// Arm ARM, "Synchronization of data and instruction caches". CTR_EL0 holds the sizes of cache lines, as powers of two of words.
TEXT ·Sync(SB), NOSPLIT, $0-16
	MOVD start+0(FP), R0
	MOVD end+8(FP), R1
	WORD $0xd53b0022 // mrs x2, ctr_el0
	MOVD $4, R4
	UBFX $16, R2, $4, R3
	LSL  R3, R4, R3
	AND  $15, R2, R5
	LSL  R5, R4, R5
	SUB  $1, R3, R6
	BIC  R6, R0, R7
data:
	WORD $0xd50b7b27 // dc cvau, x7
	ADD  R3, R7
	CMP  R1, R7
	BLO  data
	WORD $0xd5033b9f // dsb ish
	SUB  $1, R5, R6
	BIC  R6, R0, R7
code:
	WORD $0xd50b7527 // ic ivau, x7
	ADD  R5, R7
	CMP  R1, R7
	BLO  code
	WORD $0xd5033b9f // dsb ish
	WORD $0xd5033fdf // isb
	RET
