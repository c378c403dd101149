package kernel

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernel/model"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
)

func areaShape(t *testing.T, k *Kernel, task view) {
	mm := task.ptr("mm")
	assert.Equal(t, mm.addr, task.num("active_mm"))
	assert.Equal(t, task.addr, mm.num("owner"))
	areas := k.VMAs(k.ObjectAt(mm.addr))
	require.EqualValues(t, len(areas), mm.num("map_count"))
	total, end := uint64(0), uint64(0)
	for _, o := range areas {
		vma := viewOf(t, k, "vm_area_struct", o.Addr())
		assert.Equal(t, mm.addr, vma.num("vm_mm"))
		assert.GreaterOrEqual(t, vma.num("vm_start"), end)
		end = vma.num("vm_end")
		assert.Greater(t, end, vma.num("vm_start"))
		assert.Zero(t, (end|vma.num("vm_start"))&4095)
		total += (end - vma.num("vm_start")) / 4096
		if f := vma.num("vm_file"); f == 0 {
			assert.Zero(t, vma.num("vm_ops"), "anonymous memory has no operations")
		} else {
			assert.NotZero(t, vma.num("vm_ops"))
			assert.NotEmpty(t, vma.text("vm_file.f_path.dentry.d_name.name"))
		}
	}
	assert.Equal(t, total, mm.num("total_vm"))
	assert.Equal(t, total, mm.num("exec_vm")+mm.num("data_vm")+mm.num("stack_vm"))
	assert.LessOrEqual(t, mm.num("hiwater_vm"), total)
	assert.GreaterOrEqual(t, mm.num("mm_users.counter"), uint64(1))
	assert.GreaterOrEqual(t, mm.num("mm_count.counter"), uint64(1))
	assert.NotZero(t, mm.num("pgd"))
	assert.NotEqual(t, mm.addr, task.num("real_parent.mm"))
}

// TestAreasNeverOverlap: text, data, heap, library and stack of a process lie apart, whatever the
// seed.
func TestAreasNeverOverlap(t *testing.T) {
	onTargets(t, func(t *testing.T, b targetBTF) {
		for seed := range uint64(64) {
			k := newKernel(t, b, func(c *Config) { c.Version, c.Seed = b.version(), seed })
			mm := k.ObjectAt(k.Current().Num("mm"))
			if mm == nil {
				t.Skip("no mm_struct")
			}
			for _, p := range [...][2]string{{"start_code", "end_code"}, {"end_code", "start_data"}, {"start_data", "end_data"}, {"end_data", "start_brk"}, {"start_brk", "brk"}} {
				require.Less(t, mm.Num(p[0]), mm.Num(p[1]), "seed %d: %s, %s", seed, p[0], p[1])
			}
			end := uint64(0)
			for _, vma := range k.VMAs(mm) {
				require.GreaterOrEqual(t, vma.Num("vm_start"), max(end, 0x10000), "seed %d", seed)
				require.Greater(t, vma.Num("vm_end"), vma.Num("vm_start"), "seed %d", seed)
				end = vma.Num("vm_end")
			}
			require.LessOrEqual(t, end, mm.Num("task_size"), "seed %d", seed)
		}
	})
}

// mapleShape finds the area of addresses as mtree_load does: from the root down, by pivots.
func mapleShape(t *testing.T, k *Kernel, task view) {
	mm := task.ptr("mm")
	if !mm.has("mm_mt") {
		t.Skip("before 6.1")
	}
	mapleHolds(t, k, mm, k.VMAs(k.ObjectAt(mm.addr)))

	// As many areas as need three levels, without gaps between most of them.
	o, err := k.NewMM("large", model.MMSpec{})
	require.NoError(t, err)
	var spec []model.AreaSpec
	for i := range uint64(200) {
		start := 0x10000 + i*0x2000
		spec = append(spec, model.AreaSpec{Start: start, End: start + 0x1000 + i%3/2*0x1000, Flags: 3})
	}
	require.NoError(t, k.SetAreas(o, spec))
	large := viewOf(t, k, "mm_struct", o.Addr())
	mapleHolds(t, k, large, k.VMAs(o))
	if k.Mem().PointerSize() == 8 {
		assert.EqualValues(t, 3, large.num("mm_mt.ma_flags")>>2&31, "levels")
	}

	// One that covers all addresses but the first page.
	one, err := k.NewMM("one", model.MMSpec{})
	require.NoError(t, err)
	require.NoError(t, k.SetAreas(one, []model.AreaSpec{{Start: 0x1000, End: 0x2000}}))
	mapleHolds(t, k, viewOf(t, k, "mm_struct", one.Addr()), k.VMAs(one))
}

func mapleHolds(t *testing.T, k *Kernel, mm view, areas []*object.Object) {
	t.Helper()
	limit := uint64(math.MaxUint64)
	if k.Mem().PointerSize() == 4 {
		limit = math.MaxUint32
	}
	root, flags := mm.num("mm_mt.ma_root"), mm.num("mm_mt.ma_flags")
	assert.EqualValues(t, 0x303, flags&^(31<<2), "MM_MT_FLAGS")
	assert.EqualValues(t, 2, root&3, "a node, not an entry")
	var found []uint64
	var walk func(enode, parent, lo, hi uint64, depth int) (gap uint64)
	walk = func(enode, parent, lo, hi uint64, depth int) uint64 {
		typ := enode >> 3 & 15
		node := viewOf(t, k, map[uint64]string{1: "maple_range_64", 3: "maple_arange_64"}[typ], enode&^255)
		assert.Equal(t, parent, node.num("parent"))
		assert.Equal(t, typ == 1, depth == int(flags>>2&31), "leaves are at the height of the tree")
		slots := int(must(node.l.Place("slot")).Size) / k.Mem().PointerSize()
		most, ended := uint64(0), -1
		for i, at := 0, lo; i < slots; i++ {
			last := hi
			if i < slots-1 {
				if p := node.num(fmt.Sprintf("pivot[%d]", i)); p != 0 {
					last = p
				}
			}
			require.LessOrEqual(t, last, hi)
			require.GreaterOrEqual(t, last, at)
			slot := node.num(fmt.Sprintf("slot[%d]", i))
			gap := uint64(0)
			switch {
			case typ == 3:
				gap = walk(slot, node.addr|uint64(i)<<3|6, at, last, depth+1)
				assert.Equal(t, gap, node.num(fmt.Sprintf("gap[%d]", i)))
			case slot == 0:
				gap = last - at + 1
			default:
				vma := viewOf(t, k, "vm_area_struct", slot)
				assert.Equal(t, at, vma.num("vm_start"))
				assert.Equal(t, last+1, vma.num("vm_end"))
				found = append(found, slot)
			}
			most = max(most, gap)
			if last == hi {
				ended = i
				break
			}
			at = last + 1
		}
		require.GreaterOrEqual(t, ended, 0, "the node covers its range")
		if typ == 3 || ended < slots-1 {
			assert.EqualValues(t, ended, node.num("meta.end"))
		}
		if typ == 3 {
			assert.Equal(t, most, node.num(fmt.Sprintf("gap[%d]", node.num("meta.gap"))))
		}
		return most
	}
	walk(root&^2, mm.at("mm_mt")|1, 0, limit, 1)
	want := make([]uint64, 0, len(areas))
	for _, o := range areas {
		want = append(want, o.Addr())
	}
	assert.Equal(t, want, found)
}

func must(f object.Field, _ string, err error) object.Field {
	if err != nil {
		panic(err)
	}
	return f
}

func areaListShape(t *testing.T, k *Kernel, task view) {
	mm := task.ptr("mm")
	if !mm.has("mm_rb") {
		t.Skip("since 6.1")
	}
	areaListHolds(t, k, mm)
	for _, n := range []int{1, 2, 6, 7, 8, 100} {
		o, err := k.NewMM(fmt.Sprint("mm", n), model.MMSpec{})
		require.NoError(t, err)
		var spec []model.AreaSpec
		for i := range n {
			start := uint64(0x10000 + i*i*0x2000)
			spec = append(spec, model.AreaSpec{Start: start, End: start + 0x1000, Flags: 3})
		}
		spec[n-1].Flags |= 0x100
		require.NoError(t, k.SetAreas(o, spec))
		areaListHolds(t, k, viewOf(t, k, "mm_struct", o.Addr()))
	}
}

func areaListHolds(t *testing.T, k *Kernel, mm view) {
	t.Helper()
	var list, tree []uint64
	end, prev := uint64(0), uint64(0)
	gaps := map[uint64]uint64{}
	for at := mm.num("mmap"); at != 0; {
		vma := viewOf(t, k, "vm_area_struct", at)
		assert.Equal(t, prev, vma.num("vm_prev"))
		list = append(list, at)
		start := vma.num("vm_start")
		if vma.num("vm_flags")&0x100 != 0 {
			start -= 256 * 4096
		}
		if int64(start) > int64(end) {
			gaps[at] = start - end
		}
		prev, at, end = at, vma.num("vm_next"), vma.num("vm_end")
	}
	assert.Len(t, list, int(mm.num("map_count")))
	assert.Equal(t, end, mm.num("highest_vm_end"))
	walkRB(t, k, mm.num("mm_rb.rb_node"), func(node uint64) {
		vma := containerOf(t, k, node, "vm_area_struct", "vm_rb")
		tree = append(tree, vma.addr)
		most := gaps[vma.addr]
		for _, child := range []string{"vm_rb.rb_left", "vm_rb.rb_right"} {
			if c := vma.num(child); c != 0 {
				most = max(most, containerOf(t, k, c, "vm_area_struct", "vm_rb").num("rb_subtree_gap"))
			}
		}
		assert.Equal(t, most, vma.num("rb_subtree_gap"))
	})
	assert.Equal(t, list, tree)
}
