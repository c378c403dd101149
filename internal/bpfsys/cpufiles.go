package bpfsys

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The processors in sysfs: one package with a core for each CPU, and no siblings. Their clocks do
// not change.

const cpuDir = "/sys/devices/system/cpu"

// cpuRoot are the files of all processors together, and cpuTexts those with fixed contents.
var (
	cpuDirs  = map[string]bool{"": true, "smt": true}
	cpuTexts = map[string]string{"isolated": "\n", "kernel_max": "8191\n", "nohz_full": "(null)\n", "offline": "\n", "smt/active": "0\n", "smt/control": "notsupported\n"}
)

// clock is the frequency of each processor in kHz, of a machine without other ones.
const clock = "2000000\n"

var cpuFrequency = map[string]string{
	"affected_cpus": "", "cpuinfo_cur_freq": clock, "cpuinfo_max_freq": clock, "cpuinfo_min_freq": clock, "related_cpus": "", "scaling_available_governors": "performance\n",
	"scaling_cur_freq": clock, "scaling_driver": "bpfrun\n", "scaling_governor": "performance\n", "scaling_max_freq": clock, "scaling_min_freq": clock,
}

var cpuTopology = []string{"cluster_id", "core_cpus", "core_cpus_list", "core_id", "core_siblings", "core_siblings_list", "die_id", "package_cpus", "package_cpus_list", "physical_package_id", "thread_siblings",
	"thread_siblings_list"}

// cpuMask returns a set of CPUs as the kernel prints it (%*pb): hexadecimal numbers of 32 bits, the
// highest first.
func (s *System) cpuMask(from, to int) string {
	n := (s.cpus() + 31) / 32
	words := make([]uint32, n)
	for i := from; i < to; i++ {
		words[n-1-i/32] |= 1 << (i % 32)
	}
	var out []string
	for i, w := range words {
		width := 8
		if i == 0 {
			width = (s.cpus()-1)%32/4 + 1
		}
		out = append(out, fmt.Sprintf("%0*x", width, w))
	}
	return strings.Join(out, ",") + "\n"
}

func (s *System) cpuList() string {
	if s.cpus() == 1 {
		return "0\n"
	}
	return fmt.Sprintf("0-%d\n", s.cpus()-1)
}

// cpuFile returns the file at a path below the directory of processors.
func (s *System) cpuFile(path string) ([]byte, Found) {
	if cpuDirs[path] {
		return nil, IsDir
	}
	if text, ok := cpuTexts[path]; ok {
		return []byte(text), IsFile
	}
	switch path {
	case "possible", "present", "online":
		return []byte(s.cpuList()), IsFile
	}
	dir, rest, _ := strings.Cut(path, "/")
	n, err := strconv.Atoi(strings.TrimPrefix(dir, "cpu"))
	if err != nil || n < 0 || n >= s.cpus() || dir != "cpu"+strconv.Itoa(n) {
		return nil, Absent
	}
	kind, name, _ := strings.Cut(rest, "/")
	switch {
	case rest == "" || rest == "topology" || rest == "cpufreq":
		return nil, IsDir
	case rest == "online" && n > 0: // the first cannot be taken offline
		return []byte("1\n"), IsFile
	case kind == "cpufreq" && (name == "affected_cpus" || name == "related_cpus"):
		return []byte(strconv.Itoa(n) + "\n"), IsFile
	case kind == "cpufreq" && cpuFrequency[name] != "":
		return []byte(cpuFrequency[name]), IsFile
	case kind == "topology" && slices.Contains(cpuTopology, name):
		return []byte(s.topology(n, name)), IsFile
	}
	return nil, Absent
}

func (s *System) topology(cpu int, name string) string {
	switch name {
	case "physical_package_id", "die_id", "cluster_id":
		return "0\n"
	case "core_id", "core_cpus_list", "thread_siblings_list":
		return strconv.Itoa(cpu) + "\n"
	case "core_cpus", "thread_siblings":
		return s.cpuMask(cpu, cpu+1)
	case "core_siblings", "package_cpus":
		return s.cpuMask(0, s.cpus())
	}
	return s.cpuList()
}

// cpuNames returns the sorted names in a directory of processors.
func (s *System) cpuNames(path string) (out []string) {
	_, kind, _ := strings.Cut(path, "/")
	switch {
	case path == "":
		out = []string{"isolated", "kernel_max", "nohz_full", "offline", "online", "possible", "present", "smt"}
		for i := range s.cpus() {
			out = append(out, "cpu"+strconv.Itoa(i))
		}
	case path == "smt":
		out = []string{"active", "control"}
	case kind == "topology":
		out = slices.Clone(cpuTopology)
	case kind == "cpufreq":
		for name := range cpuFrequency {
			out = append(out, name)
		}
	default:
		if out = []string{"cpufreq", "topology"}; path != "cpu0" {
			out = append(out, "online")
		}
	}
	slices.Sort(out)
	return out
}
