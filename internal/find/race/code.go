package race

import (
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/vm"
)

// code is what is known of a program's instructions without running it.
type code struct {
	insns []decode.Insn
	// run is how many instructions from each slot on touch nothing that is shared, up to and
	// including the first that jumps; 0 where one may.
	run []uint16
}

// codeOf examines an image.
func codeOf(img *vm.Image) *code {
	insns := img.Insns()
	c := &code{insns: insns, run: make([]uint16, len(insns))}
	for pc := len(insns) - 1; pc >= 0; pc-- {
		in := insns[pc]
		info := in.Info()
		if mayShare(in, info) {
			continue
		}
		c.run[pc] = 1
		if next := pc + in.Len(); info.Flags&(decode.FlagBranch|decode.FlagJump|decode.FlagCall|decode.FlagExit) == 0 && next < len(insns) && c.run[next] < 1<<15 {
			c.run[pc] += c.run[next]
		}
	}
	return c
}

// mayShare reports whether an instruction may access something that programs share.
func mayShare(in decode.Insn, info *decode.Info) bool {
	switch {
	case info.Form == decode.FormCall || info.Form == decode.FormCallKfunc:
		return in.Op() != decode.OpCallLocal
	case info.Flags&decode.FlagPacket != 0:
		return false
	case info.Flags&decode.FlagLoad != 0 && info.Flags&decode.FlagStore == 0:
		return in.Src != decode.FramePointer
	case info.Flags&decode.FlagStore != 0:
		return in.Dst != decode.FramePointer
	}
	return false
}
