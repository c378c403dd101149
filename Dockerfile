# The static binary alone. Build it first: `make build-static`, then `docker build -t bpfrun .`.
#
#     docker run --rm -v "$PWD:/src" -w /src bpfrun prog.o --btf embedded
FROM scratch
COPY bpfrun /usr/bin/bpfrun
ENTRYPOINT ["/usr/bin/bpfrun"]
