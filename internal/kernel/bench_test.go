package kernel

import (
	"testing"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// BenchmarkRun is what a short run costs: a kernel, a kprobe context and a look at the current
// task.
func BenchmarkRun(b *testing.B) {
	tg := targets()[0]
	b.ReportAllocs()
	for b.Loop() {
		m, err := mem.New(mem.Config{})
		if err != nil {
			b.Fatal(err)
		}
		k, err := New(Config{Mem: m, BTF: tg.spec, Types: tg.types})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := k.NewContext(hook.ContextSpec{ProgType: uapi.ProgTypeKprobe, AttachTo: "vfs_read", Section: "kprobe/vfs_read"}); err != nil {
			b.Fatal(err)
		}
		k.PidTgid()
		m.Close()
	}
}

// BenchmarkLoad is one logged load of a field.
func BenchmarkLoad(b *testing.B) {
	k := newEmbedded(b)
	f, _, err := k.Current().Layout().Place("tgid")
	if err != nil {
		b.Fatal(err)
	}
	addr, n := k.Current().Addr()+f.Off, 0
	k.SetSink(func(*object.Access) { n++ })
	for b.Loop() {
		if _, fault := k.Mem().Load(addr, 4); fault != nil {
			b.Fatal(fault)
		}
	}
}
