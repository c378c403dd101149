package serve

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/app/play"
)

// start returns a server with an object.
func start(t *testing.T) *Server {
	t.Helper()
	p := play.New(play.Config{})
	t.Cleanup(p.Close)
	s, err := New(p, "1.2.3", &Object{Name: "mine.o", Data: []byte("secret")}, 0)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		assert.NoError(t, <-done)
	})
	return s
}

// request makes a request to the server, as change makes it.
func request(t *testing.T, s *Server, method, path, body string, change func(*http.Request)) (status int, header http.Header, text string) {
	t.Helper()
	r, err := http.NewRequest(method, "http://"+s.ln.Addr().String()+path, strings.NewReader(body))
	require.NoError(t, err)
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set(tokenHeader, s.token)
	if change != nil {
		change(r)
	}
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, res.Header, string(data)
}

func TestPageAndMessages(t *testing.T) {
	s := start(t)
	page, err := url.Parse(s.URL())
	require.NoError(t, err)
	assert.Equal(t, "127.0.0.1", page.Hostname())
	assert.Equal(t, s.token, page.Query().Get("token"))
	for path, want := range map[string]struct{ kind, text string }{
		"/":                      {"text/html; charset=utf-8", "bpfrun playground"},
		"/main.js":               {"text/javascript; charset=utf-8", "import"},
		"/views/step.js":         {"text/javascript; charset=utf-8", "import"},
		"/examples/xdp.bpf.o":    {"application/octet-stream", "ELF"},
		"/site.json":             {"application/json", `"engine":"http"`},
		"/object/mine.o":         {"application/octet-stream", "secret"},
		"/views/../site.json":    {"application/json", `"version":"1.2.3"`},
		"/index.html?token=none": {"text/html; charset=utf-8", "bpfrun playground"},
	} {
		status, header, text := request(t, s, http.MethodGet, path, "", nil)
		assert.Equal(t, http.StatusOK, status, path)
		assert.Equal(t, want.kind, header.Get("Content-Type"), path)
		assert.Contains(t, text, want.text, path)
		assert.Contains(t, header.Get("Content-Security-Policy"), "frame-ancestors 'none'", path)
		assert.Equal(t, "no-referrer", header.Get("Referrer-Policy"), path)
	}
	status, header, text := request(t, s, http.MethodPost, "/answer", `{"id":7,"do":"kernels"}`, nil)
	assert.Equal(t, http.StatusOK, status)
	assert.Equal(t, "application/json", header.Get("Content-Type"))
	assert.Contains(t, text, `"id": 7`)
	assert.Contains(t, text, "linux-6.12.107-amd64")
}

func TestOthersAreRefused(t *testing.T) {
	s := start(t)
	set := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	const ask = `{"do":"kernels"}`
	for name, c := range map[string]struct {
		method, path, body string
		change             func(*http.Request)
		want               int
	}{
		"no token":             {http.MethodPost, "/answer", ask, func(r *http.Request) { r.Header.Del(tokenHeader) }, http.StatusForbidden},
		"wrong token":          {http.MethodPost, "/answer", ask, set(tokenHeader, "x"), http.StatusForbidden},
		"no token for site":    {http.MethodGet, "/site.json", "", func(r *http.Request) { r.Header.Del(tokenHeader) }, http.StatusForbidden},
		"no token for object":  {http.MethodGet, "/object/mine.o", "", func(r *http.Request) { r.Header.Del(tokenHeader) }, http.StatusForbidden},
		"name of another site": {http.MethodPost, "/answer", ask, host("evil.example:80"), http.StatusForbidden},
		"name without port":    {http.MethodGet, "/", "", host("127.0.0.1"), http.StatusForbidden},
		"page of another site": {http.MethodPost, "/answer", ask, set("Origin", "http://evil.example"), http.StatusForbidden},
		"page of no site":      {http.MethodPost, "/answer", ask, set("Origin", "null"), http.StatusForbidden},
		"other port's page":    {http.MethodPost, "/answer", ask, set("Origin", "http://127.0.0.1:1"), http.StatusForbidden},
		"cross-site request":   {http.MethodGet, "/", "", set("Sec-Fetch-Site", "cross-site"), http.StatusForbidden},
		"a form":               {http.MethodPost, "/answer", ask, set("Content-Type", "text/plain"), http.StatusUnsupportedMediaType},
		"GET of a message":     {http.MethodGet, "/answer", "", nil, http.StatusMethodNotAllowed},
		"POST of a file":       {http.MethodPost, "/index.html", "", nil, http.StatusMethodNotAllowed},
		"no file":              {http.MethodGet, "/web.go", "", nil, http.StatusNotFound},
		"a file outside":       {http.MethodGet, "/../../etc/passwd", "", nil, http.StatusNotFound},
		"a folder":             {http.MethodGet, "/views", "", nil, http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			status, _, text := request(t, s, c.method, c.path, c.body, c.change)
			assert.Equal(t, c.want, status, "%s", text)
			assert.NotContains(t, text, "secret")
		})
	}
	status, _, _ := request(t, s, http.MethodPost, "/answer", ask, func(r *http.Request) {
		r.Host = "localhost:" + r.URL.Port()
		r.Header.Set("Origin", "http://"+r.Host)
	})
	assert.Equal(t, http.StatusOK, status, "localhost is this machine too")
}

// An object is served by whatever name its file has.
func TestNamesOfObjects(t *testing.T) {
	p := play.New(play.Config{})
	t.Cleanup(p.Close)
	for name, path := range map[string]string{"a b#c?d%e.o": "/object/a%20b%23c%3Fd%25e.o", "bad\xff.o": "/object/bad%EF%BF%BD.o", "<b>.o": "/object/%3Cb%3E.o"} {
		s, err := New(p, "1", &Object{Name: name, Data: []byte("mine")}, 0)
		require.NoError(t, err)
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Host = s.ln.Addr().String()
		r.Header.Set(tokenHeader, s.token)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		assert.Equal(t, http.StatusOK, w.Code, name)
		assert.Equal(t, "mine", w.Body.String(), name)
		require.NoError(t, s.ln.Close())
	}
}

// Browsers leave out the port of HTTP.
func TestOwnNames(t *testing.T) {
	for _, c := range []struct {
		host, port string
		own        bool
	}{
		{"127.0.0.1:80", "80", true}, {"127.0.0.1", "80", true}, {"localhost", "80", true}, {"evil.example", "80", false}, {"127.0.0.1:81", "80", false},
		{"127.0.0.1", "8080", false}, {"127.0.0.1:8080", "8080", true}, {"[::1]", "80", false}, {"", "80", false},
	} {
		assert.Equal(t, c.own, own(c.host, c.port), "%s of %s", c.host, c.port)
	}
}

// A message that is too large is refused while it arrives.
func TestLargeMessageIsRefused(t *testing.T) {
	s := start(t)
	r, err := http.NewRequest(http.MethodPost, "http://"+s.ln.Addr().String()+"/answer", io.LimitReader(zeros{}, play.MaxMessage+1))
	require.NoError(t, err)
	r.Header.Set(tokenHeader, s.token)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	assert.Equal(t, http.StatusRequestEntityTooLarge, res.StatusCode)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
