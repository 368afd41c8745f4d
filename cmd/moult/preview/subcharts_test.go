package preview

import (
	"maps"
	"testing"
)

// chartOf is a chart in a folder, and what it depends on.
func chartOf(dir, name, dependencies string) files {
	return files{dir + "/Chart.yaml": "apiVersion: v2\nname: " + name + "\nversion: 1.0.0\ndependencies: [" + dependencies + "]\n"}
}

func joined(all ...files) files {
	one := files{}
	for _, some := range all {
		maps.Copy(one, some)
	}
	return one
}

// oldAndNew are two charts below one: crds/ of the first has both versions, and that of the second only the new one.
func oldAndNew(dir, dependencies string, more ...files) files {
	return joined(append(more, chartOf(dir, "c", dependencies), chartOf(dir+"/charts/old", "old", ""), chartOf(dir+"/charts/new", "new", ""),
		files{dir + "/charts/old/crds/w.yaml": widgetsCRD, dir + "/charts/new/crds/w.yaml": without})...)
}

const (
	byCondition = "{name: old, version: 1.0.0, condition: old.use}, {name: new, version: 1.0.0, condition: new.use}"
	oldIsOn     = "{old: {use: true}, new: {use: false}}\n"
	newIsOn     = "{old: {use: false}, new: {use: true}}\n"
)

// No file of a CRD changes in any of these: which crds/ Helm installs does.
var subcharts = map[string]overlooked{
	"a condition":                {common: oldAndNew("c", byCondition), base: files{"c/values.yaml": oldIsOn}, head: files{"c/values.yaml": newIsOn}},
	"a condition goes":           {common: oldAndNew("c", "", files{"c/values.yaml": "x: false\n"}), base: chartOf("c", "c", "{name: old, version: 1.0.0}, {name: new, version: 1.0.0, condition: x}"), head: chartOf("c", "c", "{name: old, version: 1.0.0, condition: x}, {name: new, version: 1.0.0}")},
	"tags":                       {common: oldAndNew("c", "{name: old, version: 1.0.0, tags: [old]}, {name: new, version: 1.0.0, tags: [new]}"), base: files{"c/values.yaml": "tags: {old: true, new: false}\n"}, head: files{"c/values.yaml": "tags: {old: false, new: true}\n"}},
	"an alias":                   {common: oldAndNew("c", "{name: old, alias: a, version: 1.0.0, condition: a.use}, {name: new, alias: b, version: 1.0.0, condition: b.use}"), base: files{"c/values.yaml": "{a: {use: true}, b: {use: false}}\n"}, head: files{"c/values.yaml": "{a: {use: false}, b: {use: true}}\n"}},
	"values for a chart below":   {common: oldAndNew("p/charts/c", byCondition, chartOf("p", "p", "{name: c, version: 1.0.0}"), files{"p/charts/c/values.yaml": oldIsOn}), base: files{"p/values.yaml": "{}\n"}, head: files{"p/values.yaml": "c: " + newIsOn}},
	"a file of values beside":    {common: oldAndNew("c", byCondition, files{"c/values.yaml": oldIsOn}), base: files{"c/values-prod.yaml": oldIsOn}, head: files{"c/values-prod.yaml": newIsOn}},
	"such a file, of a template": {common: files{"c/Chart.yaml": chartC, "c/values.yaml": "old: true\n", "c/templates/w.yaml": ifOld}, base: files{"c/values-prod.yaml": "old: true\n"}, head: files{"c/values-prod.yaml": "old: false\n"}},
	"a file of values far away":  {common: oldAndNew("c", byCondition, files{"c/values.yaml": oldIsOn, "notes.yaml": "a: b\n"}), base: files{"envs/prod/values.yaml": oldIsOn}, head: files{"envs/prod/values.yaml": newIsOn}},
	"such a file, and no CRD": {
		common: files{"c/Chart.yaml": chartC, "c/values.yaml": "crd: true\n", "c/templates/w.yaml": "{{ if .Values.crd }}\n" + widgetsCRD + "{{ end }}\n"},
		base:   files{"c/values-prod.yaml": "crd: true\n"}, head: files{"c/values-prod.yaml": "crd: false\n"},
	},
	"a value of a chart two file:// away": {
		common: joined(chartOf("p", "p", "{name: mid, version: 1.0.0, repository: 'file://../mid'}"), chartOf("mid", "mid", "{name: c, version: 1.0.0, repository: 'file://../c'}"), chartOf("c", "c", ""),
			files{"p/values.yaml": "mid: {c: {mayDrop: true}}\n", "c/templates/w.yaml": "{{ if and .Values.mayDrop .Values.drop }}\n" + without + "{{ else }}\n" + widgetsCRD + "{{ end }}\n"}),
		base: files{"c/values.yaml": "drop: false\n"}, head: files{"c/values.yaml": "drop: true\n"},
	},
	"a value of a chart behind a link": {
		common: joined(chartOf("p", "p", ""), chartOf("shared/c", "c", ""),
			files{"p/values.yaml": "c: {mayDrop: true}\n", "p/charts/c": "link:../../shared/c", "shared/c/templates/w.yaml": "{{ if and .Values.mayDrop .Values.drop }}\n" + without + "{{ else }}\n" + widgetsCRD + "{{ end }}\n"}),
		base: files{"shared/c/values.yaml": "drop: false\n"}, head: files{"shared/c/values.yaml": "drop: true\n"},
	},
}

func TestTheCRDsOfChartsBelowAreThoseThatHelmInstalls(t *testing.T) {
	for name, c := range subcharts {
		t.Run(name, c.isSeen)
	}
}
