package kernel

// fillRequest gives a block request its disk, place and size.
func (k *Kernel) fillRequest(b builder) {
	bytes := 512 * b.within("sectors", 8, 248)
	b.num("cmd_flags", b.within("op", 0, 2)) // REQ_OP_READ, REQ_OP_WRITE
	b.num("rq_flags", 0)
	b.num("tag", b.within("tag", 0, 64))
	b.num("internal_tag", b.within("tag", 0, 64))
	b.num("__data_len", bytes)
	b.num("__sector", b.within("sector", 2048, 1<<24))
	b.num("start_time_ns", k.began.mono-min(b.within("start", 100_000, 10_000_000), k.began.mono))
	b.num("io_start_time_ns", k.began.mono-min(b.within("issue", 10_000, 90_000), k.began.mono))
	b.num("nr_phys_segments", 1)
	b.num("state", 1)
	b.ptr("q", k.requestQueue())
	b.ptr("rq_disk", k.disk())
	b.ptr("part", k.blockDevice())
	b.child("bio")
	b.null("end_io end_io_data rq_next")
}

// disk, its queue and its first partition are shared by everything that happens on them.
func (k *Kernel) disk() *Object {
	o := k.namedObject("disk sda", "gendisk")
	if o != nil {
		o.builtin = true
	}
	return o
}

func (k *Kernel) requestQueue() *Object {
	o := k.namedObject("queue of sda", "request_queue")
	if o != nil {
		o.builtin = true
	}
	return o
}

func (k *Kernel) blockDevice() *Object {
	o := k.namedObject("partition sda1", "block_device")
	if o != nil {
		o.builtin = true
	}
	return o
}

func (k *Kernel) fillQueue(b builder) {
	b.ptr("disk", k.disk())
	b.num("nr_hw_queues", 1)
	b.num("nr_requests", 64)
	b.num("queue_depth", 32)
	b.num("id", b.within("id", 0, 8))
	b.null("queuedata td elevator")
}

func (k *Kernel) fillDisk(b builder) {
	b.text("disk_name", "sda")
	b.num("major", diskMajor)
	b.num("first_minor", 0)
	b.num("minors", 16)
	b.ptr("queue", k.requestQueue())
	if f, ok := b.field("part0"); ok && target(f.Spec, f.Type).fine {
		b.ptr("part0", k.blockDevice())
	}
	b.num("part0.__dev.devt|part0.bd_device.devt", kernelDev(diskMajor, 0))
	b.null("private_data")
}

func (k *Kernel) fillBlockDevice(b builder) {
	b.num("bd_dev", kernelDev(diskMajor, diskMinor))
	b.num("bd_partno", diskMinor)
	b.num("bd_start_sect", 2048)
	b.ptr("bd_disk", k.disk())
	b.ptr("bd_queue", k.requestQueue())
	b.null("bd_holder bd_claiming bd_security")
}

func (k *Kernel) fillBio(b builder) {
	b.ptr("bi_bdev", k.blockDevice())
	b.ptr("bi_disk", k.disk())
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
