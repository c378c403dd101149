package machine

import (
	"fmt"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Maps through which libbpf tells programs where the arguments of a USDT probe are (usdt.bpf.h).
const (
	usdtSpecs = "__bpf_usdt_specs"
	usdtIDs   = "__bpf_usdt_ip_to_spec_id"
)

func isUSDT(p *program) bool { return p.lp.SectionFlags.Has(progtype.Marker) }

// describeUSDT does what libbpf does when it attaches to a USDT probe: it stores a spec of the
// arguments under number 0, which is the attach cookie, and for older kernels under the probe's
// address. Where the arguments are is what the probe's note says; without one they are constants,
// those of the run, and their number is that of the highest one given, else as many as the context
// has registers for.
func (cs *contexts) describeUSDT(p *program, c *hook.Context, in Input) error {
	specs, ok := cs.reg.MapByName(usdtSpecs)
	if !isUSDT(p) {
		if in.USDT != nil {
			return &USDTError{"program " + p.lp.Name + " is not attached to a USDT probe (its section is not usdt/PATH:PROVIDER:NAME)"}
		}
		return nil
	}
	if !ok {
		return nil
	}
	spec, id := p.types(), specs.Spec().ValueType
	if spec == nil || id == 0 {
		return &MapError{Map: usdtSpecs, Err: fmt.Errorf("its values have no type")}
	}
	args, err := cs.markerArgs(c, in)
	if err != nil {
		return err
	}
	value := make([]byte, specs.Spec().ValueSize)
	set := func(path string, v uint64) error {
		f, err := spec.ResolvePath(id, path)
		if err == nil {
			err = spec.EncodeField(f, v, value)
		}
		if err != nil {
			return &MapError{Map: usdtSpecs, Err: fmt.Errorf("member %s: %w", path, err)}
		}
		return nil
	}
	for i := range args {
		for _, m := range args[i].members() {
			if m.v == 0 {
				continue
			}
			if err := set(fmt.Sprintf("args[%d].%s", i, m.name), m.v); err != nil {
				return err
			}
		}
	}
	if err := set("usdt_cookie", in.Cookie); err != nil {
		return err
	}
	if err := set("arg_cnt", uint64(len(args))); err != nil {
		return err
	}
	if errno := specs.Update(maps.AllCPUs, make([]byte, 4), value, uint64(uapi.Any)); errno != 0 {
		return &MapError{Map: usdtSpecs, Err: errno}
	}
	if ids, ok := cs.reg.MapByName(usdtIDs); ok && ids.Spec().KeySize == 8 {
		key := make([]byte, 8)
		cs.mem.ByteOrder().PutUint64(key, c.FuncAddr)
		if errno := ids.Update(maps.AllCPUs, key, make([]byte, ids.Spec().ValueSize), uint64(uapi.Any)); errno != 0 {
			return &MapError{Map: usdtIDs, Err: errno}
		}
	}
	return nil
}
