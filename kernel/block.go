package kernel

// fillRequest gives a block request its disk, place and size.
func (m *Model) fillRequest(b builder) {
	bytes := 512 * b.within("sectors", 8, 248)
	b.num("cmd_flags", b.within("op", 0, 2)) // REQ_OP_READ, REQ_OP_WRITE
	b.num("rq_flags", 0)
	b.num("tag", b.within("tag", 0, 64))
	b.num("internal_tag", b.within("tag", 0, 64))
	b.num("__data_len", bytes)
	b.num("__sector", b.within("sector", 2048, 1<<24))
	b.num("start_time_ns", m.began.Mono()-min(b.within("start", 100_000, 10_000_000), m.began.Mono()))
	b.num("io_start_time_ns", m.began.Mono()-min(b.within("issue", 10_000, 90_000), m.began.Mono()))
	b.num("nr_phys_segments", 1)
	b.num("state", 1)
	b.ptr("q", m.requestQueue())
	b.ptr("rq_disk", m.disk())
	b.ptr("part", m.blockDevice())
	b.child("bio")
	b.null("end_io end_io_data rq_next")
}

// disk, its queue and its first partition are shared by everything that happens on them.
func (m *Model) disk() *Object {
	return m.builtinObject("disk sda", "gendisk")
}

func (m *Model) requestQueue() *Object {
	return m.builtinObject("queue of sda", "request_queue")
}

func (m *Model) blockDevice() *Object {
	return m.builtinObject("partition sda1", "block_device")
}

func (m *Model) fillQueue(b builder) {
	b.ptr("disk", m.disk())
	b.num("nr_hw_queues", 1)
	b.num("nr_requests", 64)
	b.num("queue_depth", 32)
	b.num("id", b.within("id", 0, 8))
	b.null("queuedata td elevator")
}

func (m *Model) fillDisk(b builder) {
	b.text("disk_name", "sda")
	b.num("major", diskMajor)
	b.num("first_minor", 0)
	b.num("minors", 16)
	b.ptr("queue", m.requestQueue())
	if f, ok := b.field("part0"); ok && target(f.Spec, f.Type).fine {
		b.ptr("part0", m.blockDevice())
	}
	b.num("part0.__dev.devt|part0.bd_device.devt", kernelDev(diskMajor, 0))
	b.null("private_data")
}

func (m *Model) fillBlockDevice(b builder) {
	b.num("bd_dev", kernelDev(diskMajor, diskMinor))
	b.num("bd_partno", diskMinor)
	b.num("bd_start_sect", 2048)
	b.ptr("bd_disk", m.disk())
	b.ptr("bd_queue", m.requestQueue())
	b.null("bd_holder bd_claiming bd_security")
}

func (m *Model) fillBio(b builder) {
	b.ptr("bi_bdev", m.blockDevice())
	b.ptr("bi_disk", m.disk())
	b.num("bi_partno", diskMinor)
	b.num("bi_opf", b.within("op", 0, 2))
	b.num("bi_flags", 0)
	b.num("bi_status", 0)
	b.num("bi_vcnt", 1)
	b.num("bi_iter.bi_size", 512*b.within("sectors", 8, 248))
	b.num("bi_iter.bi_sector", b.within("sector", 2048, 1<<24))
	b.num("bi_iter.bi_idx", 0)
	b.null("bi_next bi_private bi_blkg bi_crypt_context bi_integrity")
}
