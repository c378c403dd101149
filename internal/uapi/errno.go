package uapi

import "strconv"

// Errno is a positive kernel error number (asm-generic/errno.h and, from 512, the kernel's internal
// linux/errno.h). Zero means success. The numbers are those of x86, arm64, riscv, arm and s390,
// which agree.
type Errno int32

const (
	EPERM           Errno = 1
	ENOENT          Errno = 2
	ESRCH           Errno = 3
	EINTR           Errno = 4
	EIO             Errno = 5
	ENXIO           Errno = 6
	E2BIG           Errno = 7
	ENOEXEC         Errno = 8
	EBADF           Errno = 9
	ECHILD          Errno = 10
	EAGAIN          Errno = 11
	ENOMEM          Errno = 12
	EACCES          Errno = 13
	EFAULT          Errno = 14
	ENOTBLK         Errno = 15
	EBUSY           Errno = 16
	EEXIST          Errno = 17
	EXDEV           Errno = 18
	ENODEV          Errno = 19
	ENOTDIR         Errno = 20
	EISDIR          Errno = 21
	EINVAL          Errno = 22
	ENFILE          Errno = 23
	EMFILE          Errno = 24
	ENOTTY          Errno = 25
	ETXTBSY         Errno = 26
	EFBIG           Errno = 27
	ENOSPC          Errno = 28
	ESPIPE          Errno = 29
	EROFS           Errno = 30
	EMLINK          Errno = 31
	EPIPE           Errno = 32
	EDOM            Errno = 33
	ERANGE          Errno = 34
	EDEADLK         Errno = 35
	ENAMETOOLONG    Errno = 36
	ENOLCK          Errno = 37
	ENOSYS          Errno = 38
	ENOTEMPTY       Errno = 39
	ELOOP           Errno = 40
	ENOMSG          Errno = 42
	EIDRM           Errno = 43
	ECHRNG          Errno = 44
	EL2NSYNC        Errno = 45
	EL3HLT          Errno = 46
	EL3RST          Errno = 47
	ELNRNG          Errno = 48
	EUNATCH         Errno = 49
	ENOCSI          Errno = 50
	EL2HLT          Errno = 51
	EBADE           Errno = 52
	EBADR           Errno = 53
	EXFULL          Errno = 54
	ENOANO          Errno = 55
	EBADRQC         Errno = 56
	EBADSLT         Errno = 57
	EBFONT          Errno = 59
	ENOSTR          Errno = 60
	ENODATA         Errno = 61
	ETIME           Errno = 62
	ENOSR           Errno = 63
	ENONET          Errno = 64
	ENOPKG          Errno = 65
	EREMOTE         Errno = 66
	ENOLINK         Errno = 67
	EADV            Errno = 68
	ESRMNT          Errno = 69
	ECOMM           Errno = 70
	EPROTO          Errno = 71
	EMULTIHOP       Errno = 72
	EDOTDOT         Errno = 73
	EBADMSG         Errno = 74
	EOVERFLOW       Errno = 75
	ENOTUNIQ        Errno = 76
	EBADFD          Errno = 77
	EREMCHG         Errno = 78
	ELIBACC         Errno = 79
	ELIBBAD         Errno = 80
	ELIBSCN         Errno = 81
	ELIBMAX         Errno = 82
	ELIBEXEC        Errno = 83
	EILSEQ          Errno = 84
	ERESTART        Errno = 85
	ESTRPIPE        Errno = 86
	EUSERS          Errno = 87
	ENOTSOCK        Errno = 88
	EDESTADDRREQ    Errno = 89
	EMSGSIZE        Errno = 90
	EPROTOTYPE      Errno = 91
	ENOPROTOOPT     Errno = 92
	EPROTONOSUPPORT Errno = 93
	ESOCKTNOSUPPORT Errno = 94
	EOPNOTSUPP      Errno = 95
	EPFNOSUPPORT    Errno = 96
	EAFNOSUPPORT    Errno = 97
	EADDRINUSE      Errno = 98
	EADDRNOTAVAIL   Errno = 99
	ENETDOWN        Errno = 100
	ENETUNREACH     Errno = 101
	ENETRESET       Errno = 102
	ECONNABORTED    Errno = 103
	ECONNRESET      Errno = 104
	ENOBUFS         Errno = 105
	EISCONN         Errno = 106
	ENOTCONN        Errno = 107
	ESHUTDOWN       Errno = 108
	ETOOMANYREFS    Errno = 109
	ETIMEDOUT       Errno = 110
	ECONNREFUSED    Errno = 111
	EHOSTDOWN       Errno = 112
	EHOSTUNREACH    Errno = 113
	EALREADY        Errno = 114
	EINPROGRESS     Errno = 115
	ESTALE          Errno = 116
	EUCLEAN         Errno = 117
	ENOTNAM         Errno = 118
	ENAVAIL         Errno = 119
	EISNAM          Errno = 120
	EREMOTEIO       Errno = 121
	EDQUOT          Errno = 122
	ENOMEDIUM       Errno = 123
	EMEDIUMTYPE     Errno = 124
	ECANCELED       Errno = 125
	ENOKEY          Errno = 126
	EKEYEXPIRED     Errno = 127
	EKEYREVOKED     Errno = 128
	EKEYREJECTED    Errno = 129
	EOWNERDEAD      Errno = 130
	ENOTRECOVERABLE Errno = 131
	ERFKILL         Errno = 132
	EHWPOISON       Errno = 133
	ERESTARTSYS     Errno = 512
	ERESTARTNOINTR  Errno = 513
	ERESTARTNOHAND  Errno = 514
	ENOIOCTLCMD     Errno = 515
	EPROBEDEFER     Errno = 517
	EOPENSTALE      Errno = 518
	ENOPARAM        Errno = 519
	EBADHANDLE      Errno = 521
	ENOTSYNC        Errno = 522
	EBADCOOKIE      Errno = 523
	ENOTSUPP        Errno = 524
	ETOOSMALL       Errno = 525
	ESERVERFAULT    Errno = 526
	EBADTYPE        Errno = 527
	EJUKEBOX        Errno = 528
	EIOCBQUEUED     Errno = 529
	ERECALLCONFLICT Errno = 530
	ENOGRACE        Errno = 531
)

// Aliases of asm-generic/errno.h.
const (
	EWOULDBLOCK = EAGAIN
	EDEADLOCK   = EDEADLK
)

// errnoNames lists the C names by number, with "" for numbers without a name.
var errnoNames = [...]string{
	EPERM:           "EPERM",
	ENOENT:          "ENOENT",
	ESRCH:           "ESRCH",
	EINTR:           "EINTR",
	EIO:             "EIO",
	ENXIO:           "ENXIO",
	E2BIG:           "E2BIG",
	ENOEXEC:         "ENOEXEC",
	EBADF:           "EBADF",
	ECHILD:          "ECHILD",
	EAGAIN:          "EAGAIN",
	ENOMEM:          "ENOMEM",
	EACCES:          "EACCES",
	EFAULT:          "EFAULT",
	ENOTBLK:         "ENOTBLK",
	EBUSY:           "EBUSY",
	EEXIST:          "EEXIST",
	EXDEV:           "EXDEV",
	ENODEV:          "ENODEV",
	ENOTDIR:         "ENOTDIR",
	EISDIR:          "EISDIR",
	EINVAL:          "EINVAL",
	ENFILE:          "ENFILE",
	EMFILE:          "EMFILE",
	ENOTTY:          "ENOTTY",
	ETXTBSY:         "ETXTBSY",
	EFBIG:           "EFBIG",
	ENOSPC:          "ENOSPC",
	ESPIPE:          "ESPIPE",
	EROFS:           "EROFS",
	EMLINK:          "EMLINK",
	EPIPE:           "EPIPE",
	EDOM:            "EDOM",
	ERANGE:          "ERANGE",
	EDEADLK:         "EDEADLK",
	ENAMETOOLONG:    "ENAMETOOLONG",
	ENOLCK:          "ENOLCK",
	ENOSYS:          "ENOSYS",
	ENOTEMPTY:       "ENOTEMPTY",
	ELOOP:           "ELOOP",
	ENOMSG:          "ENOMSG",
	EIDRM:           "EIDRM",
	ECHRNG:          "ECHRNG",
	EL2NSYNC:        "EL2NSYNC",
	EL3HLT:          "EL3HLT",
	EL3RST:          "EL3RST",
	ELNRNG:          "ELNRNG",
	EUNATCH:         "EUNATCH",
	ENOCSI:          "ENOCSI",
	EL2HLT:          "EL2HLT",
	EBADE:           "EBADE",
	EBADR:           "EBADR",
	EXFULL:          "EXFULL",
	ENOANO:          "ENOANO",
	EBADRQC:         "EBADRQC",
	EBADSLT:         "EBADSLT",
	EBFONT:          "EBFONT",
	ENOSTR:          "ENOSTR",
	ENODATA:         "ENODATA",
	ETIME:           "ETIME",
	ENOSR:           "ENOSR",
	ENONET:          "ENONET",
	ENOPKG:          "ENOPKG",
	EREMOTE:         "EREMOTE",
	ENOLINK:         "ENOLINK",
	EADV:            "EADV",
	ESRMNT:          "ESRMNT",
	ECOMM:           "ECOMM",
	EPROTO:          "EPROTO",
	EMULTIHOP:       "EMULTIHOP",
	EDOTDOT:         "EDOTDOT",
	EBADMSG:         "EBADMSG",
	EOVERFLOW:       "EOVERFLOW",
	ENOTUNIQ:        "ENOTUNIQ",
	EBADFD:          "EBADFD",
	EREMCHG:         "EREMCHG",
	ELIBACC:         "ELIBACC",
	ELIBBAD:         "ELIBBAD",
	ELIBSCN:         "ELIBSCN",
	ELIBMAX:         "ELIBMAX",
	ELIBEXEC:        "ELIBEXEC",
	EILSEQ:          "EILSEQ",
	ERESTART:        "ERESTART",
	ESTRPIPE:        "ESTRPIPE",
	EUSERS:          "EUSERS",
	ENOTSOCK:        "ENOTSOCK",
	EDESTADDRREQ:    "EDESTADDRREQ",
	EMSGSIZE:        "EMSGSIZE",
	EPROTOTYPE:      "EPROTOTYPE",
	ENOPROTOOPT:     "ENOPROTOOPT",
	EPROTONOSUPPORT: "EPROTONOSUPPORT",
	ESOCKTNOSUPPORT: "ESOCKTNOSUPPORT",
	EOPNOTSUPP:      "EOPNOTSUPP",
	EPFNOSUPPORT:    "EPFNOSUPPORT",
	EAFNOSUPPORT:    "EAFNOSUPPORT",
	EADDRINUSE:      "EADDRINUSE",
	EADDRNOTAVAIL:   "EADDRNOTAVAIL",
	ENETDOWN:        "ENETDOWN",
	ENETUNREACH:     "ENETUNREACH",
	ENETRESET:       "ENETRESET",
	ECONNABORTED:    "ECONNABORTED",
	ECONNRESET:      "ECONNRESET",
	ENOBUFS:         "ENOBUFS",
	EISCONN:         "EISCONN",
	ENOTCONN:        "ENOTCONN",
	ESHUTDOWN:       "ESHUTDOWN",
	ETOOMANYREFS:    "ETOOMANYREFS",
	ETIMEDOUT:       "ETIMEDOUT",
	ECONNREFUSED:    "ECONNREFUSED",
	EHOSTDOWN:       "EHOSTDOWN",
	EHOSTUNREACH:    "EHOSTUNREACH",
	EALREADY:        "EALREADY",
	EINPROGRESS:     "EINPROGRESS",
	ESTALE:          "ESTALE",
	EUCLEAN:         "EUCLEAN",
	ENOTNAM:         "ENOTNAM",
	ENAVAIL:         "ENAVAIL",
	EISNAM:          "EISNAM",
	EREMOTEIO:       "EREMOTEIO",
	EDQUOT:          "EDQUOT",
	ENOMEDIUM:       "ENOMEDIUM",
	EMEDIUMTYPE:     "EMEDIUMTYPE",
	ECANCELED:       "ECANCELED",
	ENOKEY:          "ENOKEY",
	EKEYEXPIRED:     "EKEYEXPIRED",
	EKEYREVOKED:     "EKEYREVOKED",
	EKEYREJECTED:    "EKEYREJECTED",
	EOWNERDEAD:      "EOWNERDEAD",
	ENOTRECOVERABLE: "ENOTRECOVERABLE",
	ERFKILL:         "ERFKILL",
	EHWPOISON:       "EHWPOISON",
	ERESTARTSYS:     "ERESTARTSYS",
	ERESTARTNOINTR:  "ERESTARTNOINTR",
	ERESTARTNOHAND:  "ERESTARTNOHAND",
	ENOIOCTLCMD:     "ENOIOCTLCMD",
	EPROBEDEFER:     "EPROBE_DEFER",
	EOPENSTALE:      "EOPENSTALE",
	ENOPARAM:        "ENOPARAM",
	EBADHANDLE:      "EBADHANDLE",
	ENOTSYNC:        "ENOTSYNC",
	EBADCOOKIE:      "EBADCOOKIE",
	ENOTSUPP:        "ENOTSUPP",
	ETOOSMALL:       "ETOOSMALL",
	ESERVERFAULT:    "ESERVERFAULT",
	EBADTYPE:        "EBADTYPE",
	EJUKEBOX:        "EJUKEBOX",
	EIOCBQUEUED:     "EIOCBQUEUED",
	ERECALLCONFLICT: "ERECALLCONFLICT",
	ENOGRACE:        "ENOGRACE",
}

// Error returns the C name ("ENOENT"), "ok" for 0, and "errno N" for a number without a name.
func (e Errno) Error() string {
	if e == 0 {
		return "ok"
	}
	if name := e.Name(); name != "" {
		return name
	}
	return "errno " + strconv.Itoa(int(e))
}

// Name returns the C name, or "" for a number without one.
func (e Errno) Name() string {
	if e > 0 && int(e) < len(errnoNames) {
		return errnoNames[e]
	}
	return ""
}

// Neg returns -e, sign-extended to 64 bits as helpers return it.
func (e Errno) Neg() int64 { return -int64(e) }

// Ret returns -e as the 64-bit value that a helper leaves in r0.
func (e Errno) Ret() uint64 { return uint64(-int64(e)) }

// ParseErrno finds an error number by its C name.
func ParseErrno(s string) (Errno, bool) {
	switch s {
	case "":
		return 0, false
	case "EWOULDBLOCK":
		return EWOULDBLOCK, true
	case "EDEADLOCK":
		return EDEADLOCK, true
	}
	for i, n := range errnoNames {
		if n == s {
			return Errno(i), true
		}
	}
	return 0, false
}
