package plan

import "github.com/bpfrun/bpfrun/decode"

// leftOut are the ops left to the interpreter: the kinds of LD_IMM64 and calls that lowering
// replaces, and ops that are too rare or need too much of the machine.
var leftOut = map[decode.Op]string{
	decode.OpInvalid: "not an instruction",
	decode.OpLdMapFD: "lowered to LdImm64", decode.OpLdMapValue: "lowered to LdImm64", decode.OpLdBTFID: "lowered to LdImm64",
	decode.OpLdFunc: "lowered to LdImm64", decode.OpLdMapIdx: "lowered to LdImm64", decode.OpLdMapIdxValue: "lowered to LdImm64",
	decode.OpCallHelper: "leaves with CallFunc", decode.OpCallKfunc: "leaves with CallFunc", decode.OpCallX: "no kernel accepts it",
	decode.OpGotoX:  "interpreter: looks up text addresses",
	decode.OpLdAbsB: "interpreter: calls the packet loader", decode.OpLdAbsH: "interpreter: calls the packet loader", decode.OpLdAbsW: "interpreter: calls the packet loader",
	decode.OpLdIndB: "interpreter: calls the packet loader", decode.OpLdIndH: "interpreter: calls the packet loader", decode.OpLdIndW: "interpreter: calls the packet loader",
}

// HasRule reports whether backends have a rule for an op: it is neither left out nor control flow
// that Emission generates.
func HasRule(op decode.Op) bool {
	_, out := leftOut[op]
	return !out && special>>rows[op].blank.Kind&1 == 0
}

// KindOf returns the kind of an op's instructions.
func KindOf(op decode.Op) Kind { return rows[op].blank.Kind }
