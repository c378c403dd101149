package uapi

// Address families (include/linux/socket.h).
const (
	AFUnix  = 1
	AFInet  = 2
	AFInet6 = 10
)

// PageSize is the size of a page in bytes on the simulated machines.
const PageSize = 4096
