package scenes

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestAddressesOfSockets: an address is decoded when all of it is there.
func TestAddressesOfSockets(t *testing.T) {
	of := func(family uint16, length int) []byte {
		b := make([]byte, length)
		binary.NativeEndian.PutUint16(b, family)
		binary.BigEndian.PutUint16(b[2:], 80)
		b[7], b[length-1] = 9, 9
		return b
	}
	for _, tt := range []struct {
		values []any
		want   string
	}{
		{[]any{of(uapi.AFInet, 8)}, "0.0.0.9:80"},
		{[]any{of(uapi.AFInet, 16)}, "0.0.0.9:80"},
		{[]any{of(uapi.AFInet6, 24)}, "[::9]:80"},
		{[]any{of(uapi.AFInet6, 23)}, ""},
		{[]any{of(uapi.AFUnix, 24)}, ""},
		{[]any{of(uapi.AFInet, 8)[:7]}, ""},
		{[]any{"text", nil, 7}, ""},
		{[]any{"text", of(uapi.AFInet, 8)}, "0.0.0.9:80"},
		{nil, ""},
	} {
		at, ok := address(tt.values...)
		assert.Equal(t, tt.want != "", ok, "%v", tt.values)
		if ok {
			assert.Equal(t, tt.want, at.String())
		}
	}
}

// TestCallsThatOpenFiles: which calls open which file, by where their process is.
func TestCallsThatOpenFiles(t *testing.T) {
	type values = map[string]any
	for _, tt := range []struct{ name, calls, want string }{
		{"an absolute path", "openat filename=/a ret=3", "3=/a"},
		{"a failed call", "openat filename=/a ret=-2", ""},
		{"a call whose result is not known", "openat filename=/a", ""},
		{"a relative path of a process that is somewhere", "chdir filename=/d ret=0; openat filename=a dfd=-100 ret=3", "3=/d/a"},
		{"the same without a directory", "chdir filename=/d ret=0; open filename=a ret=3", "3=/d/a"},
		{"a relative path of another directory", "chdir filename=/d ret=0; openat filename=a dfd=5 ret=3", ""},
		{"a relative path of nobody knows where", "openat filename=a dfd=-100 ret=3", ""},
		{"a failed change of directory", "chdir filename=/d ret=-2; openat filename=a dfd=-100 ret=3", ""},
		{"a relative change of directory", "chdir filename=/d ret=0; chdir filename=e ret=0; openat filename=../a dfd=-100 ret=3", "3=/d/a"},
		{"a change from nobody knows where", "chdir filename=d ret=0; openat filename=a dfd=-100 ret=3", ""},
		{"the largest descriptor", "openat filename=/a ret=1023; openat filename=/b ret=1024", "1023=/a"},
		{"a descriptor that is opened again", "openat filename=/a ret=3; openat filename=/b ret=3", "3=/a"},
		{"flags", "openat filename=/a flags=66 ret=3", "3=/a flags 66"},
	} {
		o := newObjects()
		for call := range strings.SplitSeq(tt.calls, "; ") {
			words := strings.Fields(call)
			args := values{}
			for _, w := range words[1:] {
				name, text, _ := strings.Cut(w, "=")
				var n int64
				if _, err := fmt.Sscan(text, &n); err == nil {
					args[name] = n
				} else {
					args[name] = text
				}
			}
			o.see(bpfsys.Event{Hook: "syscall/" + words[0], Args: args, Task: values{"pid": int64(7)}})
		}
		var got []string
		for fd := range maxFD {
			if f := o.fds["7"][fd]; f != nil {
				text := fmt.Sprintf("%d=%s", fd, f.path)
				if f.flags != "" {
					text += " flags " + f.flags
				}
				got = append(got, text)
			}
		}
		assert.Equal(t, tt.want, strings.Join(got, ", "), tt.name)
	}
}
