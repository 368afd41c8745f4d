package desired

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/desired/appset"
	"github.com/moult-dev/moult/clusters/desired/detect"
	"github.com/moult-dev/moult/clusters/desired/files"
)

// An object that another one takes something from may be made by a file that no unit is built of. That is a manifest that is applied by hand, a
// script, Terraform, or another cluster's manifest. A change of such a file counts.

var (
	// making finds what makes a ConfigMap, a Secret or a source, before its name.
	making = `(?i:create\s+(?:configmap|cm|secret|source\s+\w+)|kubernetes_(?:config_map|secret)\w*"|(?:configmap|secret)Generator|core/v1:(?:ConfigMap|Secret))`
	// between separates documents.
	between = regexp.MustCompile(`(?m)^---`)
	// ofTerraform are its files, and mayName those that name files of variables.
	ofTerraform = regexp.MustCompile(`\.(?:tf|tofu|tfvars)$`)
	mayName     = regexp.MustCompile(`\.(?:sh|bash|mk|ya?ml|just)$|(?:^|/)(?:Makefile|justfile)$`)
	// ofCluster finds what makes a Secret about a cluster for Argo CD, or changes its labels.
	ofCluster = regexp.MustCompile(regexp.QuoteMeta(appset.SecretType) + `|\bargocd\s+cluster\s+(?:add|set)\b|"argocd_cluster"|gitops[-_]bridge|\bkubectl\b[^\n]*\b(?:annotate|label)\s+secret\b`)
)

// madeOutside adds the changed files that make an object which no unit has.
func (p *fingerprint) madeOutside(kind, name string) {
	quoted := regexp.QuoteMeta(name)
	p.outside(name, regexp.MustCompile(making+`[\s\S]{0,250}?["'\s=/:]`+quoted+`(?:["'\s,}]|$)|\bkind["']?\s*[:=]\s*["']?`+regexp.QuoteMeta(kind)+
		`\b["']?[\s\S]{0,120}?\bmetadata["']?\s*[:=][\s\S]{0,200}?\bname["']?\s*[:=]\s*["']?`+quoted+`(?:["'\s,}]|$)`))
}

// outside adds the changed files in which something is made, and those that give values to such a file. An empty name is any.
func (p *fingerprint) outside(name string, made *regexp.Regexp) {
	makes := func(text string) bool {
		return strings.Contains(text, name) && slices.ContainsFunc(between.Split(text, -1), made.MatchString)
	}
	for _, file := range p.texts() {
		found := strings.Contains(file.Text, name)
		for _, document := range between.Split(file.Text, -1) {
			if found && made.MatchString(document) {
				p.tree.Reads.File(p.tree.Absolute(file.File))
				p.Write("makes "+name, strings.TrimSpace(document))
			}
		}
		if p.givesTo(file.File, makes) {
			p.tree.Reads.File(p.tree.Absolute(file.File))
			p.Write("gives to "+name, file.Text)
		}
	}
}

func (f *follower) changedTexts() (texts []files.Text) {
	for _, file := range f.Changed {
		content, _ := f.tree.Peek(file)
		texts = append(texts, files.Text{File: file, Text: detect.WithoutComments(string(content))})
	}
	return texts
}

// givesTo reports whether a file has variables for one that makes something. Terraform's are for all of its folder, a chart's for its
// templates, and those in other files for a script that names them.
func (p *fingerprint) givesTo(file string, makes func(text string) bool) bool {
	if ofTerraform.MatchString(file) {
		for _, other := range p.tree.Texts(ofTerraform) {
			isNear := filepath.Dir(other.File) == filepath.Dir(p.tree.Absolute(file)) || strings.HasSuffix(file, ".tfvars")
			if isNear && makes(other.Text) {
				return true
			}
		}
		return false
	}
	if chart := p.tree.ChartAround(filepath.Dir(p.tree.Absolute(file))); chart != "" {
		for _, other := range p.tree.Texts(mayName) {
			if files.Inside(other.File, chart) && makes(other.Text) {
				return true
			}
		}
	}
	if ext := path.Ext(file); ext != ".env" && ext != ".properties" && ext != ".txt" {
		return false
	}
	for _, other := range p.tree.Texts(mayName) {
		if strings.Contains(other.Text, path.Base(file)) && makes(other.Text) {
			return true
		}
	}
	return false
}
