package uapi

// Address families (include/linux/socket.h).
const (
	AFUnix  = 1
	AFInet  = 2
	AFInet6 = 10
)

// PageSize is the page size of simulated machines in bytes.
const PageSize = 4096
