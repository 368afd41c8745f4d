// Package output turns a preview's Report into what people and pipelines read:
//
//   - Markdown: the comment on a pull request,
//   - JSON: the whole report, as report.schema.json describes it,
//   - Annotations and CodeQuality: remarks beside the lines of the diff, for GitHub and GitLab,
//   - Text: a terminal,
//   - HTML: one page that needs nothing but itself.
//
// It is pure and decides nothing: verdicts, reasons and findings come with the Report. What all formats derive from it,
// they derive in the same place. It is rows.go (a CRD in a cluster), tasks.go (what to do next) and timeline.go (which
// wave waits for which gate). Names and sentences of a Report come from manifests that anybody may have written, so
// each format has one way to make them harmless, and nothing gets around it. This is plain, and then escape (Markdown),
// escapeProperty and escapeMessage (workflow commands), or html/template.
package output
