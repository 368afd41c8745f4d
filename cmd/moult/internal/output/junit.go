package output

import "encoding/xml"

// Suites is JUnit's XML as CI systems read it. What holds something up is a failure, what is not known is an error, and what is only
// told is printed by a case that passes.
type Suites struct {
	XMLName xml.Name `xml:"testsuites"`
	Suites  []Suite  `xml:"testsuite"`
}

// Suite is some of the cases, with their numbers.
type Suite struct {
	Name     string `xml:"name,attr"`
	Tests    int    `xml:"tests,attr"`
	Failures int    `xml:"failures,attr"`
	Errors   int    `xml:"errors,attr"`
	Cases    []Case `xml:"testcase"`
}

// Case passes without a failure and an error.
type Case struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Failure *Problem `xml:"failure,omitempty"`
	Error   *Problem `xml:"error,omitempty"`
	Out     string   `xml:"system-out,omitempty"`
}

// Problem is what is wrong with a case.
type Problem struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// Add adds a case, and counts it.
func (s *Suite) Add(c Case) {
	s.Tests++
	if c.Failure != nil {
		s.Failures++
	}
	if c.Error != nil {
		s.Errors++
	}
	s.Cases = append(s.Cases, c)
}

func (s Suites) text() (string, error) {
	content, err := xml.MarshalIndent(s, "", "  ")
	return xml.Header + string(content) + "\n", err
}
