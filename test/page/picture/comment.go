package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
)

// look is how a comment looks where it is posted, as far as that matters: letters, tables, and what is folded.
const look = `<!doctype html><meta charset="utf-8"><style>
body{font:14px/1.5 -apple-system,"Segoe UI","DejaVu Sans","Noto Color Emoji",sans-serif;color:#1f2328;background:#fff;margin:0;padding:16px}
main{border:1px solid #d1d9e0;border-radius:6px;padding:16px}
h2{font-size:21px;line-height:1.25;margin:0 0 16px;padding-bottom:6px;border-bottom:1px solid #d1d9e0}
p,ul,ol,table,details{margin:0 0 16px}ul,ol{padding-left:28px}
table{border-collapse:collapse;width:100%}th,td{border:1px solid #d1d9e0;padding:6px 13px;text-align:left;vertical-align:top}
th{font-weight:600}tr:nth-child(2n){background:#f6f8fa}
code{font:12px/1.4 "DejaVu Sans Mono",monospace;background:#eff1f3;border-radius:6px;padding:2px 5px}
a{color:#0969da}sub{font-size:12px;color:#59636e;vertical-align:baseline}
</style><main>`

// commentPage writes a comment in Markdown as a page, beside nothing else in a temporary folder.
func commentPage(comment string) (page string, err error) {
	content, err := os.ReadFile(comment)
	if err != nil {
		return "", err
	}
	folder, err := os.MkdirTemp("", "comment-")
	if err != nil {
		return "", err
	}
	out := bytes.NewBufferString(look)
	if err := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(html.WithUnsafe())).Convert(content, out); err != nil {
		return "", fmt.Errorf("%s is no Markdown: %w", comment, err)
	}
	page = filepath.Join(folder, "comment.html")
	return page, os.WriteFile(page, out.Bytes(), 0o600)
}
