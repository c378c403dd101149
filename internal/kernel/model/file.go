package model

import (
	"strings"

	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Numbers of the default file system: /dev/sda1 with ext4.
const (
	DiskMajor = 8
	diskMinor = 1
	ext4Magic = 0xef53
	regular   = 0o100644
	directory = 0o040755
	pathDepth = 2 // directories between a file and the root
	rootInode = 2 // EXT4_ROOT_INO
)

// KernelDev returns a dev_t in the kernel's internal form: 12 bits of major, 20 of minor.
func KernelDev(major, minor uint64) uint64 { return major<<20 | minor }

// FileSpec describes a file to build. Zero fields get default values.
type FileSpec struct {
	Path  string // absolute
	Ino   uint64
	Mode  uint64 // type and permissions; permissions alone mean a regular file
	Flags uint64 // open flags
	Size  uint64
	Dev   uint64 // in the kernel's internal form
}

// NewFile builds a struct file with path, dentries up to the root, inode and super block.
func (m *Model) NewFile(role string, s FileSpec) (*object.Object, error) {
	o, err := m.NewObjectNamed(role, "file")
	if err != nil {
		return nil, err
	}
	b := object.Build(o)
	o.MarkBuiltin()
	if s.Path == "" {
		s.Path = "/home/" + m.Word(role, "file")
	}
	d, err := m.NewDentry(role+".f_path.dentry", s.Path)
	if err != nil {
		return nil, err
	}
	d.Below(o)
	b.Ptr("f_path.dentry", d)
	b.Num("f_flags", s.Flags)
	b.Num("f_pos", 0)
	ino := object.Build(d).Child("d_inode")
	b.Ptr("f_inode", ino)
	if ino != nil {
		ib := object.Build(ino)
		if s.Ino != 0 {
			ib.Num("i_ino", s.Ino)
		}
		if s.Mode != 0 {
			if s.Mode&^0o7777 == 0 {
				s.Mode |= 0o100000
			}
			ib.Num("i_mode", s.Mode)
		}
		ib.Num("i_size", s.Size)
		if s.Dev != 0 {
			if sb := ib.Child("i_sb"); sb != nil {
				object.Build(sb).Num("s_dev", s.Dev)
			}
		}
	}
	return o, m.Err()
}

// NewDentry builds the dentries of an absolute path and returns the last one; the chain of d_parent
// ends at the root, which is its own parent.
func (m *Model) NewDentry(role, path string) (*object.Object, error) {
	var parts []string
	for p := range splitPath(path) {
		parts = append(parts, p)
	}
	at := m.rootDentry()
	for i, name := range parts {
		r := role
		for range len(parts) - 1 - i {
			r += ".d_parent"
		}
		d, err := m.NewObjectNamed(r, "dentry")
		if err != nil {
			return nil, err
		}
		d.MarkBuiltin()
		b := object.Build(d)
		m.nameDentry(b, name)
		b.Ptr("d_parent", at)
		at = d
	}
	if at == nil {
		return nil, &object.TypeError{Type: "dentry", Role: role, Why: "is not in the kernel's BTF"}
	}
	return at, nil
}

func splitPath(path string) func(func(string) bool) {
	return func(yield func(string) bool) {
		start := 0
		for i := 0; i <= len(path); i++ {
			if i == len(path) || path[i] == '/' {
				if i > start && !yield(path[start:i]) {
					return
				}
				start = i + 1
			}
		}
	}
}

func (m *Model) fillFile(b object.Builder) {
	if s, ok := socketFileOf(b.Object); ok {
		m.fillSocketFile(b, s)
	} else {
		m.fillPathFile(b)
	}
	b.Num("f_count.counter", 1)
	b.Num("f_ref.refcnt.counter", 0) // one reference (RCUREF_ONEREF)
	b.Null("f_security")
	if cred := m.Current(); cred != nil {
		if c, err := cred.Pointee("cred"); err == nil {
			b.Ptr("f_cred", c)
		}
	}
}

// fillPathFile makes a file one of the disk.
func (m *Model) fillPathFile(b object.Builder) {
	d := b.Child("f_path.dentry")
	b.Ptr("f_path.mnt", m.rootMount())
	if d != nil {
		if inode := object.Fill(d).Child("d_inode"); inode != nil {
			b.Ptr("f_inode", inode)
			b.Num("f_mapping", inode.Num("i_mapping"))
			b.Num("f_op", inode.Num("i_fop"))
		}
	}
	b.Num("f_flags", 0x8000) // O_LARGEFILE
	b.Num("f_mode", 0x1d)
	b.Num("f_pos", b.Within("pos", 0, 4096))
}

func (m *Model) fillPath(b object.Builder) {
	b.Child("dentry")
	b.Ptr("mnt", m.rootMount())
}

func (m *Model) fillFs(b object.Builder) {
	b.Child("pwd.dentry")
	b.Ptr("pwd.mnt", m.rootMount())
	b.Ptr("root.dentry", m.rootDentry())
	b.Ptr("root.mnt", m.rootMount())
	b.Num("umask", 0o022)
	b.Num("users", 1)
}

// fdSlots is the size of the first file table of a process (NR_OPEN_DEFAULT); openFirst is how many
// of the lowest descriptors are open.
const (
	fdSlots   = 64
	openFirst = 12
)

// openFiles returns the open descriptors of a process as the bits of open_fds: the first ones, and
// those used in system calls.
func (m *Model) openFiles() uint64 {
	open := uint64(1<<openFirst - 1)
	for _, role := range [...]string{"fd", "sys.fd"} {
		if v, ok := object.NamedDefault("fd", m.Hash(role)); ok && v < fdSlots {
			open |= 1 << v
		}
	}
	return open
}

// fillFdtable gives a process its open files.
func (m *Model) fillFdtable(b object.Builder) {
	b.Num("max_fds", fdSlots)
	words := fdSlots / 8 / uint64(m.Mem().PointerSize())
	if fds := b.Array("fd", fdSlots); fds != nil {
		m.closeFiles(fds, 0, fds.Size())
	}
	bits := m.fdBits(m.openFiles())
	for _, field := range [...]string{"open_fds", "close_on_exec", "full_fds_bits"} {
		if o := b.Array(field, words); o != nil && field == "open_fds" {
			o.Poke(0, bits, object.Made)
		} else if o != nil {
			o.Poke(0, make([]byte, o.Size()), object.Made)
		}
	}
}

// fdBits returns the words of a set of descriptors.
func (m *Model) fdBits(open uint64) []byte {
	bits, word := make([]byte, 8), m.Mem().PointerSize()
	for i := 0; i < len(bits); i += word {
		endian.PutUint(m.Order(), bits[i:i+word], open>>(8*i))
	}
	return bits
}

// closeFiles makes those of the pointers to files NULL whose descriptors are not open.
func (m *Model) closeFiles(o *object.Object, off, size uint64) {
	open, word := m.openFiles(), size/fdSlots
	for fd := range uint64(fdSlots) {
		if open>>fd&1 == 0 {
			o.Poke(off+fd*word, make([]byte, word), object.Made)
		}
	}
}

// fillFilesStruct gives a process the file table that is part of files_struct (alloc_files, dup_fd
// of fs/file.c), or one of its own where that has fewer entries, as on 32-bit kernels.
func (m *Model) fillFilesStruct(b object.Builder) {
	b.Num("count.counter", 1)
	b.Num("next_fd", openFirst)
	b.Num("resize_in_progress", 0)
	array, ok := b.Field("fd_array")
	if !ok || array.Size != fdSlots*uint64(m.Mem().PointerSize()) || b.Taken(array) {
		b.Child("fdt")
		return
	}
	b.Num("fdt", memberAddr(b.Object, "fdtab"))
	b.Num("fdtab.max_fds", fdSlots)
	for pointer, field := range map[string]string{"fd": "fd_array", "open_fds": "open_fds_init", "close_on_exec": "close_on_exec_init", "full_fds_bits": "full_fds_bits_init"} {
		b.Num("fdtab."+pointer, memberAddr(b.Object, field))
	}
	m.closeFiles(b.Object, array.Off, array.Size)
	b.Bytes("open_fds_init", m.fdBits(m.openFiles()))
	b.Bytes("close_on_exec_init", make([]byte, 8))
	b.Bytes("full_fds_bits_init", make([]byte, 8))
}

// fillIovec describes a piece of user memory.
func (m *Model) fillIovec(b object.Builder) {
	n := b.Within("len", 16, 240)
	b.Num("iov_len", n)
	b.Num("iov_base", m.UserDataOnce(b.Role("iov_base"), func() []byte {
		data := make([]byte, n)
		copy(data, b.Word("data"))
		return data
	}))
}

// nameDentry sets a dentry's name, which is part of it if it is short (__d_alloc of fs/dcache.c).
func (m *Model) nameDentry(b object.Builder, name string) {
	b.Num("d_name.len", uint64(len(name)))
	in, ok := b.Field("d_iname|d_shortname.string")
	f, named := b.Field("d_name.name")
	if !ok || uint64(len(name)) >= in.Size || b.Taken(in) || !named || b.Taken(f) {
		b.Text("d_name.name", name)
		b.Text("d_iname|d_shortname.string", name)
		return
	}
	text := make([]byte, in.Size)
	copy(text, name)
	b.Bytes("d_iname|d_shortname.string", text)
	b.Num("d_name.name", b.Object.Base()+in.Off)
}

func (m *Model) fillDentry(b object.Builder) {
	if k, ok := socketFileOf(b.Object.Parent()); ok {
		m.fillSocketDentry(b, b.Object.Parent(), k)
		return
	}
	s, top := mountOf(b.Object, (*mountSpec).root)
	name, parent := b.Word("file"), (*object.Object)(nil)
	switch {
	case top:
		name, parent = "/", b.Object
	case b.Object.Chain("dentry") > pathDepth:
		name, parent = b.Word("dir"), m.rootDentry()
	default:
		if b.Object.Chain("dentry") > 1 {
			name = b.Word("dir")
		}
		parent = b.Child("d_parent")
	}
	if f, ok := b.Field("d_name.name"); ok && b.Object.Stored(f) == 0 {
		m.nameDentry(b, name)
	}
	b.Ptr("d_parent", parent)
	if up := m.ObjectAt(b.Object.Num("d_parent")); up != nil && up != b.Object {
		p := object.Fill(up)
		if !p.Append("d_subdirs", b.Object, "d_child") { // since 6.8
			p.Push("d_children", b.Object, "d_sib")
		}
	}
	b.Ptr("d_sb", m.superOf(s))
	if !top {
		m.hashed(dentryTable, b, "d_hash")
	}
	b.Num("d_lockref.count", 1)
	if inode := b.Child("d_inode"); inode != nil {
		nameInode(object.Fill(inode), b.Object)
	}
	b.Null("d_op d_fsdata")
}

// nameInode makes a dentry one of the names of its inode, whichever of the two a program reads
// first (__d_instantiate of fs/dcache.c).
func nameInode(b object.Builder, d *object.Object) { b.Push("i_dentry", d, "d_u.d_alias|d_alias") }

// isDirectory reports whether an inode's dentry is a directory of a path, not its last component.
func isDirectory(inode *object.Object) bool {
	d := inode.Parent()
	if d == nil || d.TypeName() != "dentry" {
		return false
	}
	_, top := mountOf(d, (*mountSpec).root)
	return top || d.Chain("dentry") > 1 || strings.HasPrefix(d.Role(), "/") || strings.HasSuffix(d.Role(), ".pwd.dentry")
}

func (m *Model) fillInode(b object.Builder) {
	b.Num("i_ino", b.Within("ino", 1000, 1<<20))
	mode, links := uint64(regular), uint64(1)
	if isDirectory(b.Object) {
		mode, links = directory, 2
	}
	sb := m.superBlock()
	if d := b.Object.Parent(); d != nil && d.TypeName() == "dentry" {
		s, top := mountOf(d, (*mountSpec).root)
		sb = m.superOf(s)
		if top {
			b.Num("i_ino", rootInode)
		}
		nameInode(b, d)
	}
	b.Num("i_mode", mode)
	b.Num("__i_nlink|i_nlink", links)
	b.Num("i_uid.val|i_uid", 0)
	b.Num("i_gid.val|i_gid", 0)
	b.Num("i_size", b.Within("size", 1, 1<<20))
	b.Num("i_blocks", (b.Object.Num("i_size")+4095)/4096*8)
	b.Num("i_bytes", 0)
	b.Num("i_rdev", 0)
	b.Num("i_blkbits", 12)
	b.Num("i_generation", b.Within("generation", 1, 1<<30))
	b.Num("i_count.counter", 1)
	b.Num("i_flags", 0)
	b.Ptr("i_sb", sb)
	if sb != nil {
		object.Fill(sb).Append("s_inodes", b.Object, "i_sb_list")
	}
	m.hashed(inodeTable, b, "i_hash")
	b.Num("i_mapping", memberAddr(b.Object, "i_data"))
	b.Ptr("i_data.host", b.Object)
	seconds := m.Began().Real()/1_000_000_000 - b.Within("mtime", 60, 1_000_000)
	for _, t := range [...]string{"i_atime", "i_mtime", "i_ctime"} {
		b.Num(t+".tv_sec|__"+t+".tv_sec|"+t+"_sec", seconds)
		b.Num(t+".tv_nsec|__"+t+".tv_nsec|"+t+"_nsec", b.Within(t, 0, 1_000_000_000))
	}
	b.Null("i_security i_flctx i_acl i_default_acl i_private i_wb i_pipe i_cdev i_link i_fsnotify_marks i_crypt_info i_verity_info")
}

func (m *Model) fillSuper(b object.Builder) {
	s, _ := mountOf(b.Object, (*mountSpec).super)
	b.Num("s_dev", s.dev)
	b.Num("s_magic", s.magic)
	b.Num("s_blocksize", 4096)
	b.Num("s_blocksize_bits", 12)
	b.Num("s_maxbytes", 1<<44-4096)
	b.Num("s_flags", 0)
	b.Num("s_count", 1)
	b.Num("s_active.counter", 1)
	b.Ptr("s_root", m.rootOf(s))
	b.Ptr("s_user_ns", m.Named("init_user_ns", "user_namespace"))
	if t := m.fsType(s.fs); t != nil {
		b.Ptr("s_type", t)
		object.Fill(t).Push("fs_supers", b.Object, "s_instances")
	}
	if s.dev == KernelDev(DiskMajor, diskMinor) {
		b.Text("s_id", "sda1")
		b.Ptr("s_bdi", m.writeBack())
		if disk := m.blockDevice(); disk != nil {
			b.Ptr("s_bdev", disk)
			object.Fill(disk).Ptr("bd_super", b.Object)
			m.deviceFile(b.Child("s_bdev_file"), disk)
		}
	} else {
		b.Ptr("s_bdi", m.Builtin("noop_backing_dev_info", "backing_dev_info"))
		b.Text("s_id", s.fs)
		b.Null("s_bdev s_bdev_file")
	}
	b.Null("s_security s_fs_info s_subtype s_mtd")
}

// fsType returns the description of a file system.
func (m *Model) fsType(name string) *object.Object {
	return m.Builtin(name+fsTypeRole, "file_system_type")
}

const fsTypeRole = " file_system_type"

func (m *Model) fillFsType(b object.Builder) {
	name, known := strings.CutSuffix(b.Object.Role(), fsTypeRole)
	if !known {
		name = "ext4"
	}
	b.Text("name", name)
	if name == "ext4" {
		b.Num("fs_flags", 1) // FS_REQUIRES_DEV
	} else {
		b.Num("fs_flags", 0)
	}
	b.Null("next owner")
	m.hashed(fsTypes, b, "list")
}

func (m *Model) fillQstr(b object.Builder) {
	name := b.Word("name")
	b.Text("name", name)
	b.Num("len", uint64(len(name)))
}

// fillNameidata sets the last part of the path that is being walked.
func (m *Model) fillNameidata(b object.Builder) {
	name := b.Word("file")
	b.Text("last.name", name)
	b.Num("last.len", uint64(len(name)))
}

func (m *Model) fillFilename(b object.Builder) {
	name := "/tmp/" + b.Word("file")
	b.Text("name", name)
	b.Num("uptr", m.UserString(name))
	b.Num("refcnt|refcnt.counter", 1)
	b.Null("aname")
}

// fillBinprm sets an execution's file, names and arguments.
func (m *Model) fillBinprm(b object.Builder) {
	name := "/usr/bin/" + m.taskName(b.Object.Role())
	b.Text("filename", name)
	b.Text("interp", name)
	b.Text("fdpath", "")
	b.Bytes("buf", []byte("\x7fELF\x02\x01\x01\x00"))
	b.Num("argc", 3)
	b.Num("envc", 2)
	b.Child("file")
	b.Child("cred")
	b.Child("mm")
	b.Num("p", m.UserStack()-uapi.PageSize)
	b.Null("interpreter executable")
}
