# Contains only the static binary. Build that first: `make build-static`, then `docker build -t bpfrun .`.
#
#     docker run --rm -v "$PWD:/src" -w /src bpfrun prog.o --btf embedded
FROM scratch
COPY bpfrun /usr/bin/bpfrun
ENTRYPOINT ["/usr/bin/bpfrun"]
