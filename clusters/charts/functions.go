package charts

import (
	"encoding/base64"
	"fmt"
	"strings"
	"text/template"
	"time"
)

// Limits of what one call may make.
const (
	mostItems = 100_000
	mostText  = 4 << 20
)

// functions take the place of those that Helm has from sprig. Some answer otherwise each time (keys, certificates,
// passwords, the time), so that no two renderings would be the same. Others make a list or a text of any length out of a
// number. What looks into a cluster or the network has no answer: lookup and getHostByName.
// https://helm.sh/docs/chart_template_guide/function_list/
func functions() template.FuncMap {
	return template.FuncMap{
		"lookup":        func(_, _, _, _ string) map[string]any { return map[string]any{} },
		"getHostByName": func(string) string { return "" },

		"now":                      func() time.Time { return fixedTime },
		"ago":                      func(any) string { return "0s" },
		"uuidv4":                   func() string { return "00000000-0000-4000-8000-000000000000" },
		"shuffle":                  func(text string) string { return text },
		"randAlphaNum":             func(n int) (string, error) { return filled("a", n) },
		"randAlpha":                func(n int) (string, error) { return filled("a", n) },
		"randAscii":                func(n int) (string, error) { return filled("a", n) },
		"randNumeric":              func(n int) (string, error) { return filled("1", n) },
		"randInt":                  func(least, _ int) int { return least },
		"randBytes":                randBytes,
		"bcrypt":                   func(string) string { return "$2a$10$" + strings.Repeat("a", 53) },
		"htpasswd":                 func(user, _ string) string { return user + ":$2a$10$" + strings.Repeat("a", 53) },
		"encryptAES":               func(_, text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) },
		"derivePassword":           func(...any) string { return "password" },
		"genPrivateKey":            func(string) string { return privateKey },
		"genCA":                    certificateOf,
		"genCAWithKey":             certificateOf,
		"genSelfSignedCert":        certificateOf,
		"genSelfSignedCertWithKey": certificateOf,
		"genSignedCert":            certificateOf,
		"genSignedCertWithKey":     certificateOf,

		"until":     func(n int) ([]int, error) { return steps(0, n, sign(n)) },
		"untilStep": steps,
		"seq":       sequence,
		"repeat":    func(n int, text string) (string, error) { return filled(text, n) },
		"indent":    indent,
		"nindent": func(n int, text string) (string, error) {
			indented, err := indent(n, text)
			return "\n" + indented, err
		},
	}
}

// fixedTime is when every chart is rendered.
var fixedTime = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

// certificate has the fields of sprig's.
type certificate struct{ Cert, Key string }

func certificateOf(...any) certificate { return certificate{Cert: publicCertificate, Key: privateKey} }

// publicCertificate is one that the API server can parse, as it does with the caBundle of a webhook. Its key is not
// kept.
const publicCertificate = `-----BEGIN CERTIFICATE-----
MIIBhzCCAS2gAwIBAgIURyHF3zckKZhXTXjbcC7+nrEJLhQwCgYIKoZIzj0EAwIw
GDEWMBQGA1UEAwwNbW91bHQtcHJldmlldzAgFw0yNjExMjIxMjM1MDhaGA8yMTI2
MTAyOTEyMzUwOFowGDEWMBQGA1UEAwwNbW91bHQtcHJldmlldzBZMBMGByqGSM49
AgEGCCqGSM49AwEHA0IABMQCZ36qJw2OM7vq6RdmUR1ezm1l38rD+rhmQVV8cKkZ
58ZJMrYJk1AnHq2YhqnFw9h15tIuT3ivuERYEMuW8bqjUzBRMB0GA1UdDgQWBBST
0m10K0Zv5rDJJTY4MHkZXThJFzAfBgNVHSMEGDAWgBST0m10K0Zv5rDJJTY4MHkZ
XThJFzAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCIByeEg4v3eMc
ZCRtaubF0066tWbaUN4DUJTi2IcxJe7wAiEAzzW4UzxCEU901QGyzm53pdMdXR/l
yQBsUEp3IHR47iw=
-----END CERTIFICATE-----
`

const privateKey = "-----BEGIN PRIVATE KEY-----\nnone\n-----END PRIVATE KEY-----\n"

func randBytes(n int) (string, error) {
	text, err := filled("\x00", n)
	return base64.StdEncoding.EncodeToString([]byte(text)), err
}

// filled is a text n times.
func filled(text string, n int) (string, error) {
	if n < 0 || n > mostText || n*len(text) > mostText {
		return "", fmt.Errorf("a text of %d times %d bytes is too long", n, len(text))
	}
	return strings.Repeat(text, n), nil
}

func indent(n int, text string) (string, error) {
	if n < 0 || n > mostText || n*(strings.Count(text, "\n")+1) > mostText*4 {
		return "", fmt.Errorf("%d spaces for each of %d lines are too many", n, strings.Count(text, "\n")+1)
	}
	pad := strings.Repeat(" ", n)
	return pad + strings.ReplaceAll(text, "\n", "\n"+pad), nil
}

func sign(n int) int {
	if n < 0 {
		return -1
	}
	return 1
}

// steps are the numbers from start up to stop, without it. Like sprig's, it is empty if step leads away from stop.
func steps(start, stop, step int) ([]int, error) {
	numbers := []int{}
	if step == 0 {
		return numbers, nil
	}
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		if len(numbers) == mostItems {
			return nil, fmt.Errorf("a list from %d to %d is too long", start, stop)
		}
		numbers = append(numbers, i)
	}
	return numbers, nil
}

// sequence is what seq(1) prints: of (last), (first, last) or (first, step, last).
func sequence(params ...int) (string, error) {
	var last int
	first, step := 1, 0
	switch len(params) {
	case 1:
		last = params[0]
	case 2:
		first, last = params[0], params[1]
	case 3:
		first, step, last = params[0], params[1], params[2]
	default:
		return "", nil
	}
	if step == 0 {
		step = sign(last - first)
	}
	numbers, err := steps(first, last+sign(step), step)
	return strings.Trim(fmt.Sprint(numbers), "[]"), err
}
