package helpers

import (
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/helpers/held"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// TestResetForgetsAll holds that a run that was reset is a fresh one but for what says which
// program it is of: every field, those that are added too.
func TestResetForgetsAll(t *testing.T) {
	kept := map[string]bool{
		"ProgType": true, "Attach": true, "FuncIP": true, "Cookie": true, "CgroupStorage": true, "FuncArgs": true, "FuncReturns": true, "Context": true, "Packet": true, "Host": true, "OnLimit": true, "Here": true,
	}
	r := &Run{
		ProgType: uapi.ProgTypeXDP, Attach: 1, FuncIP: 2, Cookie: 3, CgroupStorage: 4, FuncArgs: 4, FuncReturns: true, Context: &hook.Context{}, Packet: func() []byte { return nil },
		Retval: 5, Callback: 15, SessionReturn: true, Socket: SocketVerdict{Ingress: true}, sessionCookie: 8,
		Output: Output{Trace: []string{"t"}, Text: []byte{6}, SeqStart: 7, SeqFull: true, Events: []Event{{Number: 9}}, target: 13, kept: 14, Host: &mem.Host{}, OnLimit: func(error) {}},
		Held:   held.Ledger{Here: func() (*vm.Image, int) { return nil, 0 }},
		skb:    skbState{started: true, net: 11, tunnel: &tunnelKey{}}, draining: []uint64{12}, records: []openRecord{{14, nil}},
	}
	r.Held.Take(held.SpinLock, 10, "")
	r.Held.Take(held.Reference, 11, "")
	assert.True(t, r.Held.Give(held.Reference, 11))
	fields := func(check func(name string, f reflect.Value)) {
		var walk func(v reflect.Value)
		walk = func(v reflect.Value) {
			for i := range v.NumField() {
				f := reflect.NewAt(v.Field(i).Type(), unsafe.Pointer(v.Field(i).UnsafeAddr())).Elem()
				switch f.Interface().(type) {
				case Output, held.Ledger: // parts
					walk(f)
				default:
					check(v.Type().Field(i).Name, f)
				}
			}
		}
		walk(reflect.ValueOf(r).Elem())
	}
	fields(func(name string, f reflect.Value) { assert.False(t, f.IsZero(), "the test fills in %s", name) })
	r.Reset()
	fields(func(name string, f reflect.Value) {
		switch {
		case kept[name]:
			assert.False(t, f.IsZero(), name)
		case f.Kind() == reflect.Slice || f.Kind() == reflect.Map:
			assert.Zero(t, f.Len(), name)
		default:
			assert.True(t, f.IsZero(), name)
		}
	})
}
