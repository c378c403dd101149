// Package serve serves the playground's page from this machine to browsers on this machine, with a
// Player behind its messages.
//
// Whoever may send messages can make bpfrun work and see the object that it was started with. So
// only requests to a loopback address by that name are answered (a page elsewhere cannot reach it
// through a name of its own), never those that another site's page makes, and anything but the
// page's own public files needs the token in the page's address.
//
// It knows HTTP. It does not know what messages mean, or how a browser is opened. Start at [New].
package serve

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/bpfrun/bpfrun/internal/app/play"
	"github.com/bpfrun/bpfrun/web"
)

// tokenHeader carries the token, which is in the page's address.
const tokenHeader = "X-Bpfrun-Token"

// Server serves one page.
type Server struct {
	player *play.Player
	public map[string][]byte // files that anyone on this machine may read
	secret map[string][]byte // files that need the token
	token  string
	ln     net.Listener
	http   http.Server
}

// Object is an object to begin with.
type Object struct {
	Name string
	Data []byte
}

// New listens on a loopback port, 0 for any. open is nil for the page's first example.
func New(player *play.Player, version string, open *Object, port int) (*Server, error) {
	c := web.Config{Engine: "http", Version: version}
	s := &Server{player: player, token: rand.Text(), secret: map[string][]byte{}}
	if open != nil {
		name := strings.ToValidUTF8(open.Name, "\uFFFD") // as JSON has it
		file := "object/" + name
		c.Open = &web.Example{Name: name, Title: name, File: file}
		s.secret[file] = open.Data
	}
	files, err := web.Site(c)
	if err != nil {
		return nil, err
	}
	s.public = maps.Clone(files)
	delete(s.public, "site.json")
	s.secret["site.json"] = files["site.json"]
	if s.ln, err = net.Listen("tcp", netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(port)).String()); err != nil {
		return nil, err
	}
	s.http = http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
	return s, nil
}

// URL is the address of the page, with the token.
func (s *Server) URL() string { return "http://" + s.ln.Addr().String() + "/?token=" + s.token }

// Run answers requests until ctx is done.
func (s *Server) Run(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { _ = s.http.Close() })()
	if err := s.http.Serve(s.ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	if !s.ours(r) {
		http.Error(w, "this page is for browsers on this machine, at the address that bpfrun play printed", http.StatusForbidden)
		return
	}
	file := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
	if file == "" {
		file = "index.html"
	}
	switch data, public := s.public[file]; {
	case file == "answer":
		s.answer(w, r)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		http.Error(w, "want GET", http.StatusMethodNotAllowed)
	case public:
		send(w, file, data)
	case s.secret[file] == nil:
		http.Error(w, "there is no such file", http.StatusNotFound)
	case !s.trusted(r):
		http.Error(w, "the token is missing or wrong: use the address that bpfrun play printed", http.StatusForbidden)
	default:
		send(w, file, s.secret[file])
	}
}

// ours reports whether a request is to this server by its own name, and not made by a page of
// another site.
func (s *Server) ours(r *http.Request) bool {
	_, port, err := net.SplitHostPort(s.ln.Addr().String())
	if err != nil || !own(r.Host, port) {
		return false
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return false
	}
	origins := r.Header.Values("Origin")
	return len(origins) == 0 || len(origins) == 1 && origins[0] == "http://"+r.Host
}

// own reports whether a host is this machine by a name of its own, with the port unless it is the
// one that browsers leave out.
func own(host, port string) bool {
	if port == "80" && !strings.Contains(host, ":") {
		host += ":80"
	}
	return host == "127.0.0.1:"+port || host == "localhost:"+port
}

// trusted reports whether a request has the token.
func (s *Server) trusted(r *http.Request) bool {
	return subtle.ConstantTimeCompare([]byte(r.Header.Get(tokenHeader)), []byte(s.token)) == 1
}

// answer answers a message.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case r.Method != http.MethodPost:
		http.Error(w, "want POST", http.StatusMethodNotAllowed)
		return
	case !s.trusted(r):
		http.Error(w, "the token is missing or wrong: use the address that bpfrun play printed", http.StatusForbidden)
		return
	case kind != "application/json":
		http.Error(w, "want application/json", http.StatusUnsupportedMediaType)
		return
	}
	message, err := io.ReadAll(http.MaxBytesReader(w, r.Body, play.MaxMessage))
	if err != nil {
		status := http.StatusBadRequest
		if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
			status = http.StatusRequestEntityTooLarge
		}
		http.Error(w, err.Error(), status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(s.player.Answer(r.Context(), message)) // the page may be gone
}

// types are the media types of the files, whatever this system's tables say.
var types = sync.OnceValue(func() map[string]string {
	return map[string]string{
		".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".json": "application/json",
		".svg": "image/svg+xml", ".webmanifest": "application/manifest+json",
	}
})

func send(w http.ResponseWriter, file string, data []byte) {
	kind := types()[path.Ext(file)]
	if kind == "" || strings.HasPrefix(file, "object/") {
		kind = "application/octet-stream"
	}
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(data)
}
