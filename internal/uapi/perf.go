package uapi

// PerfType is a type of perf_event_open(2) with a fixed number (enum perf_type_id). The kernel
// gives the probes' PMUs numbers above these.
type PerfType uint32

// String returns the kernel's name of the type ("PERF_TYPE_TRACEPOINT"), or "PerfType(N)" for a
// number that no known kernel defines.
func (t PerfType) String() string {
	if uint32(t) < uint32(len(perfTypeNames)) {
		return perfTypeNames[t]
	}
	return unknown("PerfType", int64(t))
}

// PerfTypes returns all types.
func PerfTypes() []PerfType { return upTo[PerfType](len(perfTypeNames)) }

// PerfSoftware is an event of type PERF_TYPE_SOFTWARE (enum perf_sw_ids).
type PerfSoftware uint32

// String returns the kernel's name of the event ("PERF_COUNT_SW_BPF_OUTPUT"), or "PerfSoftware(N)"
// for a number that no known kernel defines.
func (p PerfSoftware) String() string {
	if uint32(p) < uint32(len(perfSoftwareNames)) {
		return perfSoftwareNames[p]
	}
	return unknown("PerfSoftware", int64(p))
}

// PerfSoftwareEvents returns all events.
func PerfSoftwareEvents() []PerfSoftware { return upTo[PerfSoftware](len(perfSoftwareNames)) }

// PerfIoctl is the number of an ioctl(2) request on a perf event, the low eight bits
// (PERF_EVENT_IOC_* in include/uapi/linux/perf_event.h).
type PerfIoctl uint8

// Requests on perf events.
const (
	PerfIoctlEnable PerfIoctl = iota
	PerfIoctlDisable
	PerfIoctlRefresh
	PerfIoctlReset
	PerfIoctlPeriod
	PerfIoctlSetOutput
	PerfIoctlSetFilter
	PerfIoctlID
	PerfIoctlSetBPF
	PerfIoctlPauseOutput
	PerfIoctlQueryBPF
	PerfIoctlModifyAttributes
)

var perfIoctlNames = [...]string{
	PerfIoctlEnable: "ENABLE", PerfIoctlDisable: "DISABLE", PerfIoctlRefresh: "REFRESH", PerfIoctlReset: "RESET", PerfIoctlPeriod: "PERIOD",
	PerfIoctlSetOutput: "SET_OUTPUT", PerfIoctlSetFilter: "SET_FILTER", PerfIoctlID: "ID", PerfIoctlSetBPF: "SET_BPF",
	PerfIoctlPauseOutput: "PAUSE_OUTPUT", PerfIoctlQueryBPF: "QUERY_BPF", PerfIoctlModifyAttributes: "MODIFY_ATTRIBUTES",
}

// String returns the kernel's name of the request ("PERF_EVENT_IOC_SET_BPF"), or "PerfIoctl(N)" for
// a number that no known kernel defines.
func (p PerfIoctl) String() string {
	if int(p) < len(perfIoctlNames) {
		return "PERF_EVENT_IOC_" + perfIoctlNames[p]
	}
	return unknown("PerfIoctl", int64(p))
}

// PerfIoctls returns all requests.
func PerfIoctls() []PerfIoctl { return upTo[PerfIoctl](len(perfIoctlNames)) }
