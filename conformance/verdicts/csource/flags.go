package csource

// Flags are the compiler's for a source: processors and levels of optimisation take turns.
func Flags(n uint64) []string {
	cpu := [...]string{"v3", "v4"}[n%2]
	level := [...]string{"-O2", "-O2", "-O1", "-O2", "-Os"}[n/2%5]
	return []string{
		level, "-g", "-w", "-target", "bpfel", "-mcpu=" + cpu, "-fdebug-compilation-dir=.", "-idirafter", "/usr/include/x86_64-linux-gnu",
	}
}
