package kernel

// Numbers of the default file system: /dev/sda1 with ext4.
const (
	diskMajor = 8
	diskMinor = 1
	ext4Magic = 0xef53
	regular   = 0o100644
	directory = 0o040755
	pathDepth = 2 // directories between a file and the root
)

// kernelDev is a dev_t as the kernel keeps it: 12 bits of major, 20 of minor.
func kernelDev(major, minor uint64) uint64 { return major<<20 | minor }

// FileSpec describes a file to build. Zero fields get default values.
type FileSpec struct {
	Path  string // absolute
	Ino   uint64
	Mode  uint64 // type and permissions; permissions alone mean a regular file
	Flags uint64 // open flags
	Size  uint64
	Dev   uint64 // as the kernel keeps it
}

// NewFile builds a struct file with path, dentries up to the root, inode and super block.
func (m *Model) NewFile(role string, s FileSpec) (*Object, error) {
	o, err := m.NewObjectNamed(role, "file")
	if err != nil {
		return nil, err
	}
	b := build(o)
	o.MarkBuiltin()
	if s.Path == "" {
		s.Path = "/home/" + m.word(role, "file")
	}
	d, err := m.NewDentry(role+".f_path.dentry", s.Path)
	if err != nil {
		return nil, err
	}
	d.Below(o)
	b.ptr("f_path.dentry", d)
	b.num("f_flags", s.Flags)
	b.num("f_pos", 0)
	ino := build(d).child("d_inode")
	b.ptr("f_inode", ino)
	if ino != nil {
		ib := build(ino)
		if s.Ino != 0 {
			ib.num("i_ino", s.Ino)
		}
		if s.Mode != 0 {
			if s.Mode&^0o7777 == 0 {
				s.Mode |= 0o100000
			}
			ib.num("i_mode", s.Mode)
		}
		ib.num("i_size", s.Size)
		if s.Dev != 0 {
			if sb := ib.child("i_sb"); sb != nil {
				build(sb).num("s_dev", s.Dev)
			}
		}
	}
	return o, m.Err()
}

// NewDentry builds the dentries of an absolute path and returns the last one; the chain of d_parent ends at the root, which
// is its own parent.
func (m *Model) NewDentry(role, path string) (*Object, error) {
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
		b := build(d)
		b.text("d_name.name", name)
		b.num("d_name.len", uint64(len(name)))
		b.ptr("d_parent", at)
		at = d
	}
	if at == nil {
		return nil, &TypeError{Type: "dentry", Role: role, Why: "is not in the target's BTF"}
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

// rootDentry is the root directory, its own parent.
func (m *Model) rootDentry() *Object {
	return m.builtinObject("root dentry", "dentry")
}

// superBlock is the super block of the default file system.
func (m *Model) superBlock() *Object {
	return m.builtinObject("root super_block", "super_block")
}

// rootMount is the mount of the root directory.
func (m *Model) rootMount() *Object {
	if m.layoutNamed("vfsmount") == nil {
		return nil
	}
	return m.builtinObject("root vfsmount", "vfsmount")
}

func (m *Model) fillFile(b builder) {
	d := b.child("f_path.dentry")
	b.ptr("f_path.mnt", m.rootMount())
	if d != nil {
		b.ptr("f_inode", fill(d).child("d_inode"))
	}
	b.num("f_flags", 0x8000) // O_LARGEFILE
	b.num("f_mode", 0x1d)
	b.num("f_pos", b.within("pos", 0, 4096))
	b.null("f_security")
	if cred := m.Current(); cred != nil {
		if c, err := cred.Pointee("cred"); err == nil {
			b.ptr("f_cred", c)
		}
	}
}

func (m *Model) fillPath(b builder) {
	b.child("dentry")
	b.ptr("mnt", m.rootMount())
}

func (m *Model) fillFs(b builder) {
	b.child("pwd.dentry")
	b.ptr("pwd.mnt", m.rootMount())
	b.ptr("root.dentry", m.rootDentry())
	b.ptr("root.mnt", m.rootMount())
	b.num("umask", 0o022)
	b.num("users", 1)
}

func (m *Model) fillFdtable(b builder) {
	b.num("max_fds", pointerElems)
}

func (m *Model) fillDentry(b builder) {
	root := m.rootDentry()
	name := b.word("file")
	switch {
	case b.o == root:
		name = "/"
		b.ptr("d_parent", root)
	case b.o.chain("dentry") > pathDepth:
		name = b.word("dir")
		b.ptr("d_parent", root)
	default:
		if b.o.chain("dentry") > 1 {
			name = b.word("dir")
		}
		b.child("d_parent")
	}
	b.text("d_name.name", name)
	b.num("d_name.len", uint64(len(name)))
	b.text("d_iname|d_shortname.string", name)
	b.ptr("d_sb", m.superBlock())
	b.child("d_inode")
	b.null("d_op d_fsdata")
}

// isDirectory reports whether an inode's dentry is on the way of a path, not its end.
func isDirectory(inode *Object) bool {
	d := inode.parent
	return d != nil && d.TypeName() == "dentry" && (d == d.k.kept("root dentry") || d.chain("dentry") > 1)
}

func (m *Model) fillInode(b builder) {
	b.num("i_ino", b.within("ino", 1000, 1<<20))
	mode, links := uint64(regular), uint64(1)
	if isDirectory(b.o) {
		mode, links = directory, 2
	}
	b.num("i_mode", mode)
	b.num("__i_nlink|i_nlink", links)
	b.num("i_uid.val|i_uid", 0)
	b.num("i_gid.val|i_gid", 0)
	b.num("i_size", b.within("size", 1, 1<<20))
	b.num("i_rdev", 0)
	b.num("i_blkbits", 12)
	b.num("i_generation", b.within("generation", 1, 1<<30))
	b.num("i_count.counter", 1)
	b.num("i_flags", 0)
	b.ptr("i_sb", m.superBlock())
	seconds := m.began.Real()/1_000_000_000 - b.within("mtime", 60, 1_000_000)
	for _, t := range [...]string{"i_atime", "i_mtime", "i_ctime"} {
		b.num(t+".tv_sec|__"+t+".tv_sec|"+t+"_sec", seconds)
		b.num(t+".tv_nsec|__"+t+".tv_nsec|"+t+"_nsec", b.within(t, 0, 1_000_000_000))
	}
	b.null("i_security i_flctx i_acl i_default_acl i_private i_wb i_pipe i_cdev i_link i_fsnotify_marks i_crypt_info i_verity_info")
}

func (m *Model) fillSuper(b builder) {
	b.num("s_dev", kernelDev(diskMajor, diskMinor))
	b.num("s_magic", ext4Magic)
	b.num("s_blocksize", 4096)
	b.num("s_blocksize_bits", 12)
	b.num("s_flags", 0)
	b.text("s_id", "sda1")
	b.ptr("s_root", m.rootDentry())
	b.ptr("s_user_ns", m.namedObject("init_user_ns", "user_namespace"))
	b.child("s_type")
	b.child("s_bdev")
	b.null("s_security s_fs_info s_subtype")
}

func (m *Model) fillVfsmount(b builder) {
	b.ptr("mnt_root", m.rootDentry())
	b.ptr("mnt_sb", m.superBlock())
	b.num("mnt_flags", 0x20) // MNT_RELATIME
}

func (m *Model) fillMount(b builder) {
	b = b.as("mount")
	b.num("mnt_parent", b.o.base)
	b.ptr("mnt_mountpoint", m.rootDentry())
	b.ptr("mnt.mnt_root", m.rootDentry())
	b.ptr("mnt.mnt_sb", m.superBlock())
	b.text("mnt_devname", "/dev/sda1")
	b.num("mnt_id", b.within("id", 20, 100))
	if t := m.Current(); t != nil {
		if ns, err := t.Pointee("nsproxy.mnt_ns"); err == nil {
			b.ptr("mnt_ns", ns)
		}
	}
}

func (m *Model) fillFsType(b builder) {
	b.text("name", "ext4")
	b.num("fs_flags", 1)
	b.null("next owner")
}

func (m *Model) fillQstr(b builder) {
	name := b.word("name")
	b.text("name", name)
	b.num("len", uint64(len(name)))
}

func (m *Model) fillFilename(b builder) {
	name := "/tmp/" + b.word("file")
	b.text("name", name)
	b.num("uptr", m.UserString(name))
	b.num("refcnt|refcnt.counter", 1)
	b.null("aname")
}

// fillBinprm gives an execution its file, names and arguments.
func (m *Model) fillBinprm(b builder) {
	name := "/usr/bin/" + m.taskName(b.o.role)
	b.text("filename", name)
	b.text("interp", name)
	b.text("fdpath", "")
	b.bytes("buf", []byte("\x7fELF\x02\x01\x01\x00"))
	b.num("argc", 3)
	b.num("envc", 2)
	b.child("file")
	b.child("cred")
	b.child("mm")
	b.num("p", userStack64-4096)
	b.null("interpreter executable")
}
