package jit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/vm"
)

// entering is a walk over an object that is correct if it is entered where it begins, and beyond it
// if entered after that.
const entering = `
	r6 = r1
	r1 = func(f)
	r1 = r6
	r7 = 0
a:	r1 = r7
	r2 = r6
	r3 = 40000
	call 7
	r7 += 1
	if r7 != 2 goto a
	exit
f:	r2 = 0
g:	r0 = 0
	r5 = 0
l:	r3 = r1
	r3 += r2
	r4 = *(u8 *)(r3 + 0)
	r0 += r4
	r2 += 1
	r5 += 1
	if r5 != 24 goto l
	exit`

const (
	enteringF = 12 // slot of f
	enteringG = 13
)

// result is a continuation that ends the helper with what the callback returned.
type result struct{}

func (result) Resume(_ *vm.Thread, ret uint64) (uint64, *vm.Action) { return ret, nil }

// TestFunctionsAreEnteredAtTheirStart: what is derived of loops relies on what the function did
// before, so that whoever computes the address of a callback must not get after that.
func TestFunctionsAreEnteredAtTheirStart(t *testing.T) {
	eachTier(t, func(t *testing.T) {
		t.Run("callback", testEnteredByCallbacks)
		t.Run("exception", testEnteredByExceptions)
	})
}

func testEnteredByCallbacks(t *testing.T) {
	var img *vm.Image
	invoke := &vm.Func{Name: "invoke", ID: 7, Fn: func(t *vm.Thread, args *[5]uint64) (uint64, *vm.Action) {
		return 0, t.Invoke(img.FuncAddr(enteringF+int(args[0])), [5]uint64{args[1], args[2]}, result{})
	}}
	r := newLoopRig(t, max(tier, 0))
	img = lower(t, entering, func(int, decode.Insn) (*vm.Func, error) { return invoke, nil })
	for range 4 {
		r.run(t, img, 0, 6, 0, 0, 1<<20)
		require.Equal(t, vm.Faulted, r.native.thread.Status())
		require.Equal(t, vm.BadTarget, r.native.thread.Fault().Kind)
	}
}

func testEnteredByExceptions(t *testing.T) {
	throw := &vm.Func{Name: "throw", ID: 7, Fn: func(_ *vm.Thread, args *[5]uint64) (uint64, *vm.Action) {
		if args[0] == 0 {
			return 0, nil
		}
		object, far := args[1], args[2]
		args[1] = far
		return 0, vm.Throw(object)
	}}
	insns, err := decode.Assemble(entering)
	require.NoError(t, err)
	img, err := vm.Lower(vm.LowerConfig{
		Name: t.Name(), Insns: insns, ExceptionCallback: enteringG,
		Call: func(int, decode.Insn) (*vm.Func, error) { return throw, nil },
	})
	require.NoError(t, err)
	r := newLoopRig(t, max(tier, 0))
	for range 4 {
		r.run(t, img, 0, 6, 0, 0, 1<<20)
		require.Equal(t, vm.Faulted, r.native.thread.Status())
		require.Equal(t, vm.Memory, r.native.thread.Fault().Kind)
	}
}

// TestLoopsEnteredByBranchesOnTheStack: branches that look at r10 are the interpreter's, and lead
// somewhere all the same.
func TestLoopsEnteredByBranchesOnTheStack(t *testing.T) {
	eachTier(t, testLoopsEnteredByBranchesOnTheStack)
}

func testLoopsEnteredByBranchesOnTheStack(t *testing.T) {
	for name, to := range map[string]string{"header": "l", "middle": "m"} {
		t.Run(name, func(t *testing.T) {
			img := lower(t, `
	r0 = 0
	r5 = 0
	r2 = 40000
	if r10 != 0 goto `+to+`
	r2 = 0
	r5 = 0
l:	if r5 == 0 goto m
	r3 = r1
	r3 += r2
	r4 = *(u8 *)(r3 + 0)
	r0 += r4
m:	r2 += 1
	r5 += 1
	if r5 != 24 goto l
	exit`, nil)
			r := newLoopRig(t, max(tier, 0))
			for range 4 {
				r.run(t, img, 1, 6, 0, 0, 1<<20)
				require.Equal(t, vm.Faulted, r.native.thread.Status())
			}
		})
	}
}
