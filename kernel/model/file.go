package model

import (
	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/kernel/object"
	"github.com/bpfrun/bpfrun/uapi"
)

// Numbers of the default file system: /dev/sda1 with ext4.
const (
	DiskMajor = 8
	diskMinor = 1
	ext4Magic = 0xef53
	regular   = 0o100644
	directory = 0o040755
	pathDepth = 2 // directories between a file and the root
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

// NewDentry builds the dentries of an absolute path and returns the last one; the chain of d_parent ends at the root, which
// is its own parent.
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
		b.Text("d_name.name", name)
		b.Num("d_name.len", uint64(len(name)))
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

// rootDentry returns the root directory, its own parent.
func (m *Model) rootDentry() *object.Object {
	return m.Builtin("root dentry", "dentry")
}

// superBlock returns the super block of the default file system.
func (m *Model) superBlock() *object.Object {
	return m.Builtin("root super_block", "super_block")
}

// rootMount returns the mount of the root directory.
func (m *Model) rootMount() *object.Object {
	if m.LayoutNamed("vfsmount") == nil {
		return nil
	}
	return m.Builtin("root vfsmount", "vfsmount")
}

func (m *Model) fillFile(b object.Builder) {
	d := b.Child("f_path.dentry")
	b.Ptr("f_path.mnt", m.rootMount())
	if d != nil {
		b.Ptr("f_inode", object.Fill(d).Child("d_inode"))
	}
	b.Num("f_flags", 0x8000) // O_LARGEFILE
	b.Num("f_mode", 0x1d)
	b.Num("f_pos", b.Within("pos", 0, 4096))
	b.Null("f_security")
	if cred := m.Current(); cred != nil {
		if c, err := cred.Pointee("cred"); err == nil {
			b.Ptr("f_cred", c)
		}
	}
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

// fdSlots is the size of the first file table of a process (NR_OPEN_DEFAULT); openFirst is how many of the lowest
// descriptors are open.
const (
	fdSlots   = 64
	openFirst = 12
)

// openFiles returns the open descriptors of a process as the bits of open_fds: the first ones, and those used in system
// calls.
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
	open := m.openFiles()
	b.Num("max_fds", fdSlots)
	if fds := b.Array("fd", fdSlots); fds != nil {
		word := fds.Size() / fdSlots
		for fd := range uint64(fdSlots) {
			if open>>fd&1 == 0 {
				fds.Poke(fd*word, make([]byte, word), object.Made)
			}
		}
	}
	bits := make([]byte, 8)
	for i, o := range []*object.Object{b.Array("open_fds", fdSlots/8/uint64(m.Mem().PointerSize())), b.Array("close_on_exec", fdSlots/8/uint64(m.Mem().PointerSize())), b.Array("full_fds_bits", 1)} {
		if o == nil {
			continue
		}
		endian.PutUint(m.Order(), bits, 0)
		if i == 0 {
			endian.PutUint(m.Order(), bits, open)
		}
		o.Poke(0, bits[:min(o.Size(), 8)], object.Made)
	}
}

func (m *Model) fillFilesStruct(b object.Builder) {
	b.Num("count.counter", 1)
	b.Num("next_fd", openFirst)
	b.Num("resize_in_progress", 0)
	b.Child("fdt")
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

func (m *Model) fillDentry(b object.Builder) {
	root := m.rootDentry()
	name := b.Word("file")
	switch {
	case b.Object == root:
		name = "/"
		b.Ptr("d_parent", root)
	case b.Object.Chain("dentry") > pathDepth:
		name = b.Word("dir")
		b.Ptr("d_parent", root)
	default:
		if b.Object.Chain("dentry") > 1 {
			name = b.Word("dir")
		}
		b.Child("d_parent")
	}
	b.Text("d_name.name", name)
	b.Num("d_name.len", uint64(len(name)))
	b.Text("d_iname|d_shortname.string", name)
	b.Ptr("d_sb", m.superBlock())
	b.Child("d_inode")
	b.Null("d_op d_fsdata")
}

// isDirectory reports whether an inode's dentry is a directory of a path, not its last component.
func isDirectory(inode *object.Object) bool {
	d := inode.Parent()
	return d != nil && d.TypeName() == "dentry" && (d == d.Space().Kept("root dentry") || d.Chain("dentry") > 1)
}

func (m *Model) fillInode(b object.Builder) {
	b.Num("i_ino", b.Within("ino", 1000, 1<<20))
	mode, links := uint64(regular), uint64(1)
	if isDirectory(b.Object) {
		mode, links = directory, 2
	}
	b.Num("i_mode", mode)
	b.Num("__i_nlink|i_nlink", links)
	b.Num("i_uid.val|i_uid", 0)
	b.Num("i_gid.val|i_gid", 0)
	b.Num("i_size", b.Within("size", 1, 1<<20))
	b.Num("i_rdev", 0)
	b.Num("i_blkbits", 12)
	b.Num("i_generation", b.Within("generation", 1, 1<<30))
	b.Num("i_count.counter", 1)
	b.Num("i_flags", 0)
	b.Ptr("i_sb", m.superBlock())
	seconds := m.Began().Real()/1_000_000_000 - b.Within("mtime", 60, 1_000_000)
	for _, t := range [...]string{"i_atime", "i_mtime", "i_ctime"} {
		b.Num(t+".tv_sec|__"+t+".tv_sec|"+t+"_sec", seconds)
		b.Num(t+".tv_nsec|__"+t+".tv_nsec|"+t+"_nsec", b.Within(t, 0, 1_000_000_000))
	}
	b.Null("i_security i_flctx i_acl i_default_acl i_private i_wb i_pipe i_cdev i_link i_fsnotify_marks i_crypt_info i_verity_info")
}

func (m *Model) fillSuper(b object.Builder) {
	b.Num("s_dev", KernelDev(DiskMajor, diskMinor))
	b.Num("s_magic", ext4Magic)
	b.Num("s_blocksize", 4096)
	b.Num("s_blocksize_bits", 12)
	b.Num("s_flags", 0)
	b.Text("s_id", "sda1")
	b.Ptr("s_root", m.rootDentry())
	b.Ptr("s_user_ns", m.Named("init_user_ns", "user_namespace"))
	b.Child("s_type")
	b.Child("s_bdev")
	b.Null("s_security s_fs_info s_subtype")
}

func (m *Model) fillVfsmount(b object.Builder) {
	b.Ptr("mnt_root", m.rootDentry())
	b.Ptr("mnt_sb", m.superBlock())
	b.Num("mnt_flags", 0x20) // MNT_RELATIME
}

func (m *Model) fillMount(b object.Builder) {
	b = b.As("mount")
	b.Num("mnt_parent", b.Object.Base())
	b.Ptr("mnt_mountpoint", m.rootDentry())
	b.Ptr("mnt.mnt_root", m.rootDentry())
	b.Ptr("mnt.mnt_sb", m.superBlock())
	b.Text("mnt_devname", "/dev/sda1")
	b.Num("mnt_id", b.Within("id", 20, 100))
	if t := m.Current(); t != nil {
		if ns, err := t.Pointee("nsproxy.mnt_ns"); err == nil {
			b.Ptr("mnt_ns", ns)
		}
	}
}

func (m *Model) fillFsType(b object.Builder) {
	b.Text("name", "ext4")
	b.Num("fs_flags", 1)
	b.Null("next owner")
}

func (m *Model) fillQstr(b object.Builder) {
	name := b.Word("name")
	b.Text("name", name)
	b.Num("len", uint64(len(name)))
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
