package report

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
)

// filler makes documents in which everything is there.
type filler struct {
	depth int
}

// fill sets a value and all that is in it. What only code can make stays as it is.
func (f *filler) fill(v reflect.Value, name string) {
	if f.depth++; f.depth > 12 || !v.CanSet() {
		f.depth--
		return
	}
	defer func() { f.depth-- }()
	switch v.Kind() {
	case reflect.String:
		v.SetString(name)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(2)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		v.SetUint(2)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(2.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), name)
	case reflect.Slice:
		if made[v.Type().Elem().Name()] {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			f.fill(v.Index(i), fmt.Sprintf("%s%d", name, i))
		}
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i), name)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		f.fill(key, name)
		f.fill(value, name)
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i), v.Type().Field(i).Name)
		}
	}
}

// made are types whose values have parts that only runs make.
var made = map[string]bool{"Change": true}

// needed are pointers without which there is no document.
var needed = map[string]bool{"Target": true, "New": true, "[]": true}

// vary calls do with each value in v replaced by others, one after the other; only in the first
// element of a list, as the others are alike.
func vary(v reflect.Value, path string, do func(what string)) {
	if !v.CanSet() {
		return
	}
	old := reflect.New(v.Type()).Elem()
	old.Set(v)
	with := func(what string, x reflect.Value) {
		v.Set(x)
		do(path + " " + what)
		v.Set(old)
	}
	number := func(n int64) reflect.Value { return reflect.ValueOf(n).Convert(v.Type()) }
	switch v.Kind() {
	case reflect.String:
		for _, s := range []string{"", "ok", "a\nb", "refused"} {
			with(fmt.Sprintf("%q", s), reflect.ValueOf(s).Convert(v.Type()))
		}
	case reflect.Bool:
		with("false", reflect.ValueOf(false).Convert(v.Type()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Float32, reflect.Float64:
		for _, n := range []int64{0, 1, 3, -1} {
			with(fmt.Sprint(n), number(n))
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		for _, n := range []int64{0, 1, 3} {
			with(fmt.Sprint(n), number(n))
		}
	case reflect.Pointer:
		if !v.IsNil() && !needed[path[strings.LastIndexByte(path, '.')+1:]] {
			with("none", reflect.Zero(v.Type()))
		}
		if !v.IsNil() {
			vary(v.Elem(), path, do)
		}
	case reflect.Slice:
		if v.Len() > 0 {
			with("none", reflect.Zero(v.Type()))
			with("one", v.Slice(0, 1))
			with("twelve", reflect.AppendSlice(reflect.AppendSlice(reflect.AppendSlice(reflect.AppendSlice(reflect.AppendSlice(reflect.AppendSlice(reflect.Zero(v.Type()), v), v), v), v), v), v))
			vary(v.Index(0), path+"[]", do)
		}
	case reflect.Map:
		with("none", reflect.Zero(v.Type()))
	case reflect.Struct:
		for i := range v.NumField() {
			vary(v.Field(i), path+"."+v.Type().Field(i).Name, do)
		}
	}
}

// TestEveryFieldOfDocuments writes documents in which everything is there, and with one of their
// values other each, in every format.
func TestEveryFieldOfDocuments(t *testing.T) {
	var all rewrite.Outcomes
	tables := []TableOptions{{}, {Verbose: true}, {Quiet: true}}
	step := 1
	check := func(name string, doc any, write func(w io.Writer) error) {
		v := reflect.ValueOf(doc).Elem()
		(&filler{}).fill(v, "X")
		say := func(what string) {
			var b bytes.Buffer
			require.NoError(t, write(&b), "%s %s", name, what)
			all.Add(what, name+"\t"+b.String())
		}
		say("as it is")
		n := 0
		vary(v, "", func(what string) {
			if n++; n%step == 0 {
				say(what)
			}
		})
	}
	table := func(name string, doc any, write func(w io.Writer, o TableOptions) error) {
		for _, o := range tables {
			check(fmt.Sprintf("%s %+v", name, o), doc, func(w io.Writer) error { return write(w, o) })
		}
	}
	race, fuzz, run, diff, relo := &RaceDocument{}, &FuzzDocument{}, &RunDocument{}, &DiffDocument{}, &ReloDocument{}
	table("race", race, func(w io.Writer, o TableOptions) error { return WriteRace(w, race, o) })
	check("race page", race, func(w io.Writer) error { return WriteRaceHTML(w, race) })
	table("fuzz", fuzz, func(w io.Writer, o TableOptions) error { return WriteFuzz(w, fuzz, o) })
	check("fuzz page", fuzz, func(w io.Writer) error { return WriteFuzzHTML(w, fuzz, nil, nil) })
	step = 2 // large documents
	table("run", run, func(w io.Writer, o TableOptions) error { return WriteTable(w, run, o) })
	step = 16
	check("run page", run, func(w io.Writer) error { return WriteRunHTML(w, Documents{Results: []*RunDocument{run}}, nil) })
	step = 1
	table("diff", diff, func(w io.Writer, o TableOptions) error { return WriteDiff(w, diff, o) })
	check("diff page", diff, func(w io.Writer) error { return WriteDiffHTML(w, diff) })
	check("diff annotations", diff, func(w io.Writer) error { return WriteDiffAnnotations(w, diff) })
	table("relo", relo, func(w io.Writer, o TableOptions) error { return WriteRelo(w, relo, o) })
	doctor, verify, ids := &DoctorDocument{}, &VerifyDocument{}, &BTFIDsDocument{}
	table("doctor", doctor, func(w io.Writer, o TableOptions) error { return WriteDoctor(w, doctor, o) })
	table("verify", verify, func(w io.Writer, o TableOptions) error { return WriteVerify(w, verify, o) })
	check("verify page", verify, func(w io.Writer) error {
		return WriteVerifyHTML(w, VerifyDocuments{Results: []*VerifyDocument{verify}})
	})
	check("ids", ids, func(w io.Writer) error { return WriteBTFIDs(w, ids) })
	baked, bench, btfDiff, btfCheck, sizes, uses := &BakedDocument{}, &BenchDocument{}, &BTFDiffDocument{}, &BTFCheckDocument{}, &BTFSizesDocument{}, &BTFUsesDocument{}
	check("baked", baked, func(w io.Writer) error { return WriteBaked(w, baked, false) })
	check("bench", bench, func(w io.Writer) error { return WriteBench(w, bench) })
	check("bench page", bench, func(w io.Writer) error { return WriteBenchHTML(w, bench) })
	check("btf diff", btfDiff, func(w io.Writer) error { return WriteBTFDiff(w, btfDiff, BTFDiffOptions{}) })
	check("btf check", btfCheck, func(w io.Writer) error { return WriteBTFCheck(w, btfCheck) })
	check("btf sizes", sizes, func(w io.Writer) error { return WriteSizes(w, sizes) })
	check("btf uses", uses, func(w io.Writer) error { return WriteBTFUses(w, uses) })
	info, configs, explained := &InfoDocument{}, &ConfigsDocument{}, &VerifyExplainDocument{}
	check("info", info, func(w io.Writer) error { return WriteInfo(w, info, false) })
	table("configurations", configs, func(w io.Writer, o TableOptions) error { return WriteConfigs(w, configs, o) })
	table("explained", explained, func(w io.Writer, o TableOptions) error { return WriteVerifyExplain(w, explained, o) })
	suites := &[]*Suite{}
	table("tests", suites, func(w io.Writer, o TableOptions) error { return WriteSuites(w, *suites, o) })
	check("tests in Markdown", suites, func(w io.Writer) error { return WriteTestsMarkdown(w, *suites) })
	check("tests as JUnit", suites, func(w io.Writer) error { return WriteJUnit(w, *suites) })
	check("tests page", suites, func(w io.Writer) error { return WriteTestsHTML(w, *suites, nil) })
	check("annotations of tests", suites, func(w io.Writer) error { return WriteTestAnnotations(w, *suites) })
	all.Compare(t, filepath.Join("testdata", "fields.txt"))
}
