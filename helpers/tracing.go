package helpers

import (
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var tracingHelpers = []row{
	{ID: uapi.FuncGetFuncIp, Do: getFuncIP},
	{ID: uapi.FuncGetAttachCookie, Do: getAttachCookie},
	{ID: uapi.FuncGetFuncArg, Do: getFuncArg},
	{ID: uapi.FuncGetFuncRet, Do: getFuncRet},
	{ID: uapi.FuncGetFuncArgCnt, Do: getFuncArgCnt},
	{ID: uapi.FuncOverrideReturn, Do: overrideReturn, Note: "recorded as an event"},
}

func getFuncIP(c *Call) (uint64, *vm.Action) { return c.Run.FuncIP, nil }

func getAttachCookie(c *Call) (uint64, *vm.Action) {
	return c.Run.Cookie, nil
}

// getFuncArg reads argument n of the traced function from the context's argument array.
func getFuncArg(c *Call) (uint64, *vm.Action) {
	n := c.Args[1] & 0xffffffff
	if n >= uint64(c.Run.FuncArgs) {
		return errnoRet(uapi.EINVAL), nil
	}
	return 0, c.copyU64(c.Args[2], c.Args[0]+8*n)
}

// getFuncRet reads the traced function's return value, which follows the arguments. At a function's
// entry there is none: -EOPNOTSUPP.
func getFuncRet(c *Call) (uint64, *vm.Action) {
	if !c.Run.FuncReturns {
		return errnoRet(uapi.EOPNOTSUPP), nil
	}
	return 0, c.copyU64(c.Args[1], c.Args[0]+8*uint64(c.Run.FuncArgs))
}

func (c *Call) copyU64(to, from uint64) *vm.Action {
	v, f := c.guest.ReadU64(from)
	if f == nil {
		f = c.guest.WriteU64(to, v)
	}
	return f
}

func getFuncArgCnt(c *Call) (uint64, *vm.Action) {
	return uint64(c.Run.FuncArgs), nil
}

func overrideReturn(c *Call) (uint64, *vm.Action) {
	return 0, c.Run.emit(Event{Kind: OverrideReturn, Number: c.Args[1]})
}
