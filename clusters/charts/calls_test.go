package charts_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/clusters/charts"
)

// The tests of the release run this with the template engine of a released program, too.
func TestChartsCallMethods(t *testing.T) {
	for call, gives := range map[string]string{
		`.Files.Get "a.txt"`:                               "one\ntwo",
		`.Files.GetBytes "a.txt" | len`:                    "7",
		`(.Files.Glob "*.txt").AsConfig`:                   "a.txt: |-\n  one\n  two",
		`(.Files.Glob "*.txt").AsSecrets`:                  "a.txt: b25lCnR3bw==",
		`index (.Files.Lines "a.txt") 1`:                   "two",
		`.Files.LICENSE | toString`:                        "free", // a file whose name could be a method's
		`.Capabilities.APIVersions.Has "apps/v1"`:          "true",
		`.Capabilities.KubeVersion`:                        "v1.30.1",
		`.Capabilities.KubeVersion.String`:                 "v1.30.1",
		`.Capabilities.KubeVersion.GitVersion`:             "v1.30.1",
		`.Capabilities.KubeVersion.Minor`:                  "30",
		`.Values.Upper`:                                    "case", // a value whose name could be a method's
		`.Values.Absent | default "none"`:                  "none",
		`(.Values.Table "table").b`:                        "c",
		`.Values.PathValue "table.b"`:                      "c",
		`.Values.AsMap.Upper`:                              "case",
		`.Values.YAML | fromYaml | dig "table" "b" "none"`: "c",
		`(semver "1.2.3-rc.1+linux").Major`:                "1",
		`(semver "1.2.3-rc.1+linux").Minor`:                "2",
		`(semver "1.2.3-rc.1+linux").Patch`:                "3",
		`(semver "1.2.3-rc.1+linux").Prerelease`:           "rc.1",
		`(semver "1.2.3-rc.1+linux").Metadata`:             "linux",
		`(semver "v1.2.3").Original`:                       "v1.2.3",
		`(semver "1.2.3").String`:                          "1.2.3",
		`(semver "1.2.3").IncMinor.String`:                 "1.3.0",
		`(semver "1.2.3") | (semver "1.10.0").Compare`:     "1",
		`(semver "1.2.3") | (semver "1.10.0").GreaterThan`: "true",
		`(semver "1.2.3") | (semver "1.10.0").LessThan`:    "false",
		`now.Unix`:                                              "1735689600",
		`now.Year`:                                              "2025",
		`now.Month`:                                             "January",
		`now.Month.String`:                                      "January",
		`now.Weekday.String`:                                    "Wednesday",
		`now.Location.String`:                                   "UTC",
		`now.UTC.Format "2006-01-02"`:                           "2025-01-01",
		`(now.AddDate 0 1 2).Format "Jan 2"`:                    "Feb 3",
		`(now.Sub (now.AddDate 0 0 -1)).Hours`:                  "24",
		`(now.Sub (now.AddDate 0 0 -1)).String`:                 "24h0m0s",
		`(toDate "2006" "2024").Before now`:                     "true",
		`(fromToml "at = 2025-01-01T10:00:00Z").at.Hour`:        "10",
		`(genCA "x" 1).Cert | trunc 10`:                         "-----BEGIN",
		`(urlParse "https://example.com/x").host`:               "example.com",
		`(dict "Name" "x").Name`:                                "x",
		`(index (dict "a" now) "a").Year`:                       "2025",
		`first (list (semver "1.2.3")) | toString`:              "1.2.3",
		`with semver "1.2.3" }}{{ .Major }}.{{ .Minor }}{{ end`: "1.2",
	} {
		t.Run(call, func(t *testing.T) {
			g := NewWithT(t)
			made, err := rendered(t, map[string]string{
				"values.yaml": "Upper: case\ntable: {b: c}\n", "a.txt": "one\ntwo", "LICENSE": "free",
				"templates/x.yaml": "kind: ConfigMap\napiVersion: v1\nmetadata: {name: x}\ndata:\n  is: {{ define \"x\" }}{{ " + call + " }}{{ end }}{{ include \"x\" . | trim | toJson }}\n",
			}, charts.Release{KubeVersion: "v1.30.1"})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(made.Objects[0].Text("data", "is")).To(Equal(gives))
		})
	}
	for call, says := range map[string]string{
		`now.Absent`:                    "can't evaluate field Absent in type time.Time",
		`(semver "1.2.3").Absent`:       "can't evaluate field Absent in type *semver.Version",
		`.Capabilities.Absent`:          "can't evaluate field Absent in type interface {}",
		`now.Date`:                      "function Date has 3 return values",
		`.Values.Table "absent"`:        "is not a table",
		`.Files.Get`:                    "wrong number of args for Get: want 1 got 0",
		`.Values.Upper.Deeper`:          "can't evaluate field Deeper in type",
		`(.Files.Get "a.txt").TrimLeft`: "can't evaluate field TrimLeft in type string",
	} {
		t.Run(call, func(t *testing.T) {
			_, err := rendered(t, map[string]string{"values.yaml": "Upper: case", "templates/x.yaml": "{{ " + call + " }}"}, charts.Release{})
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(says)))
		})
	}
}
