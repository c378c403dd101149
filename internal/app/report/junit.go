package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Props    *junitProps `xml:"properties,omitempty"`
	Cases    []junitCase `xml:"testcase"`
}

type junitProps struct {
	List []junitProp `xml:"property"`
}

type junitProp struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	File    string        `xml:"file,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitMessage `xml:"failure,omitempty"`
	Error   *junitMessage `xml:"error,omitempty"`
	Skipped *junitMessage `xml:"skipped,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// Covered is one coverage total of the tests, such as of lines.
type Covered struct {
	What     string // "lines"
	Hit, All int
	Percent  string // "87.5%", "" if there are none
}

// WriteJUnit writes suites as JUnit XML for CI systems: one suite for each scenario file or object
// on each target. Coverage totals are properties of the first suite.
func WriteJUnit(w io.Writer, suites []*Suite, covered ...Covered) error {
	doc := junitSuites{Name: "bpfrun"}
	var total time.Duration
	for _, s := range suites {
		x := junitSuite{Name: printable(s.File), Time: seconds(s.Took)}
		class := printable(strings.TrimSuffix(strings.TrimSuffix(s.File, ".yaml"), ".o"))
		if s.Target != "" {
			x.Name += " @ " + printable(s.Target)
			class += "." + printable(s.Target)
		}
		if s.Err != nil {
			first, _, _ := strings.Cut(s.Err.Error(), "\n")
			x.Cases = append(x.Cases, junitCase{Name: "load", Class: class, File: printable(s.File), Time: seconds(0), Error: &junitMessage{printable(first), printable(s.Err.Error())}})
			x.Errors++
		}
		for i := range s.Cases {
			t := &s.Cases[i]
			c := junitCase{Name: printable(t.Name), Class: class, File: printable(s.File), Time: seconds(t.Took)}
			switch {
			case len(t.Failures) > 0:
				c.Failure = &junitMessage{printable(t.Failures[0]), printable(strings.Join(t.reasons(), "\n"))}
				x.Failures++
			case t.Skipped != "":
				c.Skipped = &junitMessage{Message: printable(t.Skipped)}
				x.Skipped++
			}
			x.Cases = append(x.Cases, c)
		}
		x.Tests = len(x.Cases)
		if len(doc.Suites) == 0 && len(covered) > 0 {
			x.Props = &junitProps{}
			for _, c := range covered {
				x.Props.List = append(x.Props.List, junitProp{"coverage." + c.What, fmt.Sprintf("%s (%d of %d)", c.Percent, c.Hit, c.All)})
			}
		}
		doc.Tests += x.Tests
		doc.Failures += x.Failures
		doc.Errors += x.Errors
		doc.Skipped += x.Skipped
		total += s.Took
		doc.Suites = append(doc.Suites, x)
	}
	doc.Time = seconds(total)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(doc); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.6f", d.Seconds()) }

// printable removes characters that XML 1.0 does not allow.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r < 0x20 && r != '\n' && r != '\t' {
			return '?'
		}
		return r
	}, s)
}
