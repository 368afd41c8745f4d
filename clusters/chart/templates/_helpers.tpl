{{- define "moult.namespace" -}}
{{- .Values.namespace | default .Release.Namespace -}}
{{- end -}}

{{- define "moult.image" -}}
{{- .Values.image.repository -}}
{{- with .Values.image.tag }}:{{ . }}{{ end -}}
{{- with .Values.image.digest }}@{{ . }}{{ end -}}
{{- end -}}

{{- /* What the values add to the flags that every installation has. */ -}}
{{- define "moult.args" -}}
{{- $args := list -}}
{{- if .Values.nudge }}{{ $args = append $args "--nudge" }}{{ end -}}
{{- if .Values.references }}{{ $args = append $args "--references" }}{{ end -}}
{{- with .Values.labelKey }}{{ $args = append $args (printf "--label-key=%s" .) }}{{ end -}}
{{- with .Values.gateNamespaces }}{{ $args = append $args (printf "--gate-namespaces=%s" (join "," .)) }}{{ end -}}
{{- with concat $args .Values.args }}{{ toYaml . }}{{ end -}}
{{- end -}}

{{- define "moult.pullSecrets" -}}
{{- with .Values.imagePullSecrets }}{{ toYaml (dict "imagePullSecrets" .) }}{{ end -}}
{{- end -}}
