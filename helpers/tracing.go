package helpers

import (
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var tracingHelpers = []Helper{
	{ID: uapi.FuncGetFuncIp, Topic: "tracing", Args: []Arg{ArgCtx}, Fn: getFuncIP},
	{ID: uapi.FuncGetAttachCookie, Topic: "tracing", Args: []Arg{ArgCtx}, Fn: getAttachCookie},
	{ID: uapi.FuncGetFuncArg, Topic: "tracing", Args: []Arg{ArgCtx, ArgAny, ArgLong}, Fn: getFuncArg},
	{ID: uapi.FuncGetFuncRet, Topic: "tracing", Args: []Arg{ArgCtx, ArgLong}, Fn: getFuncRet},
	{ID: uapi.FuncGetFuncArgCnt, Topic: "tracing", Args: []Arg{ArgCtx}, Fn: getFuncArgCnt},
	{ID: uapi.FuncOverrideReturn, Topic: "tracing", Args: []Arg{ArgCtx, ArgAny}, Fn: overrideReturn, Note: "recorded as an event"},
}

func getFuncIP(t *vm.Thread, _ *[5]uint64) (uint64, *vm.Action) { return envOf(t).Run.FuncIP, nil }

func getAttachCookie(t *vm.Thread, _ *[5]uint64) (uint64, *vm.Action) {
	return envOf(t).Run.Cookie, nil
}

// getFuncArg reads argument n of the traced function from the context's argument array.
func getFuncArg(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	n := a[1] & 0xffffffff
	if n >= uint64(e.Run.FuncArgs) {
		return errnoRet(uapi.EINVAL), nil
	}
	v, f := e.readU64(a[0] + 8*n)
	if f != nil {
		return 0, f
	}
	return 0, e.writeU64(a[2], v)
}

// getFuncRet reads the traced function's return value, which follows the arguments. Entry
// programs have none: -EOPNOTSUPP.
func getFuncRet(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	if !e.Run.FuncReturns {
		return errnoRet(uapi.EOPNOTSUPP), nil
	}
	v, f := e.readU64(a[0] + 8*uint64(e.Run.FuncArgs))
	if f != nil {
		return 0, f
	}
	return 0, e.writeU64(a[1], v)
}

func getFuncArgCnt(t *vm.Thread, _ *[5]uint64) (uint64, *vm.Action) {
	return uint64(envOf(t).Run.FuncArgs), nil
}

func overrideReturn(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	return 0, envOf(t).Run.emit(Event{Kind: "override-return", Number: a[1]})
}
