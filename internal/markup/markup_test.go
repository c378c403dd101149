package markup

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestArgumentsAreEscaped(t *testing.T) {
	const evil = `"><script>alert('&')</script>`
	var p Page
	p.Printf(`<a href="#%s" title="%s">%s</a> %d %.1f`, "r1", evil, []string{evil}, 3, 2.5)
	p.Write("<br>")
	p.Printf("%s", HTML("<hr>"))
	const safe = "&#34;&gt;&lt;script&gt;alert(&#39;&amp;&#39;)&lt;/script&gt;"
	assert.Equal(t, `<a href="#r1" title="`+safe+`">[`+safe+`]</a> 3 2.5<br><hr>`, p.String())
}

func TestFormattedNumbersStayNumbers(t *testing.T) {
	assert.Equal(t, HTML("12 34 50.0"), Sprintf("%d %d %.1f", 12, uint64(34), 50.0))
}
