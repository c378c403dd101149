package model

import "github.com/bpfrun/bpfrun/internal/kernel/object"

// buckets is the number of chains of a hash table; kernels have more.
const buckets = 64

// Hash tables of the kernel, by the type of their chains' heads.
const (
	dentryTable = "dentry_hashtable"
	inodeTable  = "inode_hashtable"
	mountTable  = "mount_hashtable"
	placeTable  = "mountpoint_hashtable"
	fsTypes     = "file_systems" // one chain, on 7.2
	userTable   = "uidhash_table"
	setTable    = "css_set_table"
)

// hashed puts a member into one of the chains of a table, as its first (hlist_add_head,
// hlist_bl_add_head), if that is nowhere yet.
func (m *Model) hashed(table string, member object.Builder, path string) {
	t := m.Kept(table)
	if t == nil {
		typ := "hlist_head"
		if table == dentryTable {
			typ = "hlist_bl_head"
		}
		l := m.LayoutNamed(typ)
		if l == nil || l.Size == 0 {
			return
		}
		var err error
		if t, err = m.Make(table, l, buckets, nil); err != nil {
			m.Fail(err)
			return
		}
		t.MarkBuiltin()
		t.Poke(0, make([]byte, t.Size()), object.Made)
		m.Keep(table, t)
	}
	chain := member.Hash(path) % buckets
	if table == fsTypes {
		chain = 0
	}
	object.Fill(t).PushAt(chain*t.Size()/buckets, member, path)
}
