package scenario

// atFDCWD is AT_FDCWD.
const atFDCWD = -100
