-- What a person can do to a VersionRemoval in Argo CD's interface. Every action only writes an annotation that is not in
-- Git, so Argo CD's self-heal leaves it alone.

local function fields(value)
  if type(value) == "table" then return value end
  return {}
end

local paused = fields(fields(obj.metadata).annotations)["moult.dev/paused"] == "true"

return {
  ["retry-now"] = { displayName = "Retry now", iconClass = "fa fa-fw fa-redo", disabled = paused },
  ["pause"] = { displayName = "Pause", iconClass = "fa fa-fw fa-pause", disabled = paused },
  ["resume"] = { displayName = "Resume", iconClass = "fa fa-fw fa-play", disabled = not paused },
}
