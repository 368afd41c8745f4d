-- May the versions be removed now? The verdict of a VersionRemoval, and what holds the later sync waves back.
--
-- The same rules stand in Go, with their reasons, in health/versionremoval.go. Argo CD runs this without the string and
-- math libraries. An error would block the whole application and an answer without a status would open the gate, so
-- nothing is indexed before it is known to be a table.

local function fields(value)
  if type(value) == "table" then return value end
  return {}
end

local function text(value)
  if type(value) == "string" then return value end
  return ""
end

local metadata, status = fields(obj.metadata), fields(obj.status)
local conditions = fields(status.conditions)

-- A condition in words, or what to say instead of nothing.
local function sentence(condition, instead)
  local reason, message = text(condition.reason), text(condition.message)
  if reason ~= "" and message ~= "" then return reason .. ": " .. message end
  if reason .. message ~= "" then return reason .. message end
  return instead
end

-- How far the walk is, for example " (400/1000)".
local function count()
  local summary = text(fields(status.progress).summary)
  if summary == "" then return "" end
  return " (" .. summary .. ")"
end

local function verdict(answer, message)
  return { status = answer, message = message }
end

local ready = {}
for i = #conditions, 1, -1 do
  if fields(conditions[i]).type == "Ready" then ready = conditions[i] end
end

if metadata.deletionTimestamp ~= nil then
  return verdict("Progressing", "the VersionRemoval is being deleted")
end
if type(metadata.generation) ~= "number" or status.observedGeneration ~= metadata.generation then
  return verdict("Progressing", "Moult has not looked at this generation yet")
end

for _, item in ipairs(conditions) do
  local condition = fields(item)
  if condition.type == "Reconciling" and condition.status == "True" then
    return verdict("Progressing", sentence(ready, "Moult is at work") .. count())
  end
  if condition.type == "Stalled" and condition.status == "True" then
    return verdict("Degraded", sentence(ready, sentence(condition, "a commit is needed")))
  end
end

if ready.status == "True" then
  return verdict("Healthy", sentence(ready, "the versions may be removed"))
end
return verdict("Progressing", sentence(ready, "Moult has not yet answered whether the versions may be removed") .. count())
