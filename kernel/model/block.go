package model

import "github.com/bpfrun/bpfrun/kernel/object"

// fillRequest sets a block request's disk, position and size.
func (m *Model) fillRequest(b object.Builder) {
	bytes := 512 * b.Within("sectors", 8, 248)
	b.Num("cmd_flags", b.Within("op", 0, 2)) // REQ_OP_READ, REQ_OP_WRITE
	b.Num("rq_flags", 0)
	b.Num("tag", b.Within("tag", 0, 64))
	b.Num("internal_tag", b.Within("tag", 0, 64))
	b.Num("__data_len", bytes)
	b.Num("__sector", b.Within("sector", 2048, 1<<24))
	b.Num("start_time_ns", m.Began().Mono()-min(b.Within("start", 100_000, 10_000_000), m.Began().Mono()))
	b.Num("io_start_time_ns", m.Began().Mono()-min(b.Within("issue", 10_000, 90_000), m.Began().Mono()))
	b.Num("nr_phys_segments", 1)
	b.Num("state", 1)
	b.Ptr("q", m.requestQueue())
	b.Ptr("rq_disk", m.disk())
	b.Ptr("part", m.blockDevice())
	b.Child("bio")
	b.Null("end_io end_io_data rq_next")
}

// disk, its queue and its first partition are shared by all requests.
func (m *Model) disk() *object.Object {
	return m.Builtin("disk sda", "gendisk")
}

func (m *Model) requestQueue() *object.Object {
	return m.Builtin("queue of sda", "request_queue")
}

func (m *Model) blockDevice() *object.Object {
	return m.Builtin("partition sda1", "block_device")
}

func (m *Model) fillQueue(b object.Builder) {
	b.Ptr("disk", m.disk())
	b.Num("nr_hw_queues", 1)
	b.Num("nr_requests", 64)
	b.Num("queue_depth", 32)
	b.Num("id", b.Within("id", 0, 8))
	b.Null("queuedata td elevator")
}

func (m *Model) fillDisk(b object.Builder) {
	b.Text("disk_name", "sda")
	b.Num("major", DiskMajor)
	b.Num("first_minor", 0)
	b.Num("minors", 16)
	b.Ptr("queue", m.requestQueue())
	if f, ok := b.Field("part0"); ok && object.Target(f.Spec, f.Type).Fine {
		b.Ptr("part0", m.blockDevice())
	}
	b.Num("part0.__dev.devt|part0.bd_device.devt", KernelDev(DiskMajor, 0))
	b.Null("private_data")
}

func (m *Model) fillBlockDevice(b object.Builder) {
	b.Num("bd_dev", KernelDev(DiskMajor, diskMinor))
	b.Num("bd_partno", diskMinor)
	b.Num("bd_start_sect", 2048)
	b.Ptr("bd_disk", m.disk())
	b.Ptr("bd_queue", m.requestQueue())
	b.Null("bd_holder bd_claiming bd_security")
}

func (m *Model) fillBio(b object.Builder) {
	b.Ptr("bi_bdev", m.blockDevice())
	b.Ptr("bi_disk", m.disk())
	b.Num("bi_partno", diskMinor)
	b.Num("bi_opf", b.Within("op", 0, 2))
	b.Num("bi_flags", 0)
	b.Num("bi_status", 0)
	b.Num("bi_vcnt", 1)
	b.Num("bi_iter.bi_size", 512*b.Within("sectors", 8, 248))
	b.Num("bi_iter.bi_sector", b.Within("sector", 2048, 1<<24))
	b.Num("bi_iter.bi_idx", 0)
	b.Null("bi_next bi_private bi_blkg bi_crypt_context bi_integrity")
}
