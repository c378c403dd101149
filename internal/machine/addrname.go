package machine

import (
	"fmt"
	"strings"

	"github.com/bpfrun/bpfrun/internal/kernel"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/mem"
)

// AddrName names the object that a simulated address belongs to.
type AddrName struct {
	// Key is independent of memory layout and of the target's parameter names: arguments of a hook
	// are identified by type and by their number among the arguments of that type, "request#0.q".
	Key string
	// Text is for people: "rq.q", "do_unlinkat+0x0", "map value counters[3]+8".
	Text string
}

// addrFloor is below all simulated kernel memory, including on targets with 4-byte pointers.
const addrFloor = 1 << 20

// addresses names simulated addresses. Its state is the names of a hook's pointer arguments.
type addresses struct {
	mem     *mem.Memory
	kernel  *kernel.Kernel
	argKeys map[string]string // of pointer arguments, by role
}

// NameAddr names an address so that results of different machines can be compared. ok is false for
// numbers that are not addresses of this machine.
func (ad *addresses) NameAddr(addr uint64) (name AddrName, ok bool) {
	if ad.mem.Truncate(addr) != addr || addr < addrFloor {
		return AddrName{}, false
	}
	if ad.kernel.IsUserAddress(addr) {
		text, ok := ad.kernel.UserName(addr)
		return AddrName{text, text}, ok
	}
	if o, _, path, ok := ad.kernel.Resolve(addr); ok {
		name = AddrName{ad.argKey(o.Role()), o.Role()}
		if path != "" && addr != o.Addr() {
			name.Key += "." + path
			name.Text += "." + path
		}
		return name, true
	}
	text, ok := "", false
	if sym, off, is := ad.kernel.SymbolAt(addr); is {
		text, ok = fmt.Sprintf("%s+%#x", sym, off), true
	} else if r := ad.mem.Find(addr); r != nil && r.Kind != mem.Text && (r.Kind != mem.Scratch || r.Name != "") {
		text, ok = regionName(r, addr), true
	}
	return AddrName{text, text}, ok
}

func regionName(r *mem.Region, addr uint64) string {
	name, off := r.Describe(addr), addr-r.Base
	if _, in, ok := r.Elem(addr); ok {
		off = in
	}
	if off != 0 {
		name += fmt.Sprintf("+%d", off)
	}
	return name
}

// noteArgs records the names of a hook's pointer arguments.
func (ad *addresses) noteArgs(args []hook.Arg) {
	if ad.argKeys == nil {
		ad.argKeys = map[string]string{}
	}
	count := map[string]int{}
	for _, a := range args {
		if a.Object == nil {
			continue
		}
		typ, role := a.Object.TypeName(), a.Object.Role()
		if _, seen := ad.argKeys[role]; !seen {
			ad.argKeys[role] = fmt.Sprintf("%s#%d", typ, count[typ])
		}
		count[typ]++
	}
}

// argKey replaces the argument that a role starts with.
func (ad *addresses) argKey(role string) string {
	end := strings.IndexAny(role, ".[")
	if end < 0 {
		end = len(role)
	}
	if key, ok := ad.argKeys[role[:end]]; ok {
		return key + role[end:]
	}
	return role
}
