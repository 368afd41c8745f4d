-- How does a CustomResourceDefinition fare? Argo CD's built-in verdict, word for word, since this script replaces the
-- built-in one; and for a CRD that has the label moult.dev/migrate: "true", Healthy only once all its objects are proved
-- to be stored at the storage version.
--
-- The same rules stand in Go, with their reasons, in health/crd.go. Argo CD runs this without the string and math
-- libraries. An error would block the whole application and an answer without a status would let the next wave go, so
-- nothing is indexed before it is known to be a table.

local function fields(value)
  if type(value) == "table" then return value end
  return {}
end

local function text(value)
  if type(value) == "string" then return value end
  return ""
end

local metadata = fields(obj.metadata)
local conditions = fields(fields(obj.status).conditions)

local function verdict(answer, message)
  return { status = answer, message = message }
end

-- Argo CD's own verdict of a condition that leaves no question open; nil for all others.
local function decided(condition)
  local message = text(condition.message)
  if condition.type == "Terminating" and condition.status == "True" then
    return verdict("Progressing", "CRD is terminating: " .. message)
  end
  if condition.type == "NamesAccepted" and condition.status == "False" then
    return verdict("Degraded", "CRD names have not been accepted: " .. message)
  end
  if condition.type == "NonStructuralSchema" and condition.status == "True" then
    return verdict("Degraded", "Schema violations found: " .. message)
  end
  if condition.type ~= "Established" or condition.status == "True" then
    return nil
  end
  if condition.reason == "InvalidCABundle" then
    return verdict("Degraded", "CRD is not established: " .. message)
  end
  if condition.reason == "Installing" then
    return verdict("Progressing", "CRD is being installed")
  end
  return nil
end

-- Argo CD's own verdict: the first condition that decides wins.
local function builtin()
  if metadata.deletionTimestamp ~= nil then
    return verdict("Progressing", "CRD is terminating")
  end
  if #conditions == 0 then
    return verdict("Progressing", "Status conditions not found")
  end
  local established = false
  for _, item in ipairs(conditions) do
    local condition = fields(item)
    local decision = decided(condition)
    if decision ~= nil then return decision end
    if condition.type == "Established" and condition.status == "True" then established = true end
  end
  if not established then
    return verdict("Progressing", "CRD is not established")
  end
  return verdict("Healthy", "CRD is healthy")
end

-- Is the condition about this generation of the CRD? Earlier versions of Moult wrote observedGeneration; now the message
-- alone tells, which begins with "generation 7: ". Texts that begin so are those from there up to "generation 7:!", as "!"
-- follows the space.
local function current(condition)
  local generation = metadata.generation
  if type(generation) ~= "number" then return false end
  if condition.observedGeneration ~= nil then return condition.observedGeneration == generation end
  local message, beginning = text(condition.message), "generation " .. tostring(generation)
  return message >= beginning .. ": " and message < beginning .. ":!"
end

local served = builtin()
if served.status ~= "Healthy" or fields(metadata.labels)["moult.dev/migrate"] ~= "true" then
  return served
end

local migrated
for i = #conditions, 1, -1 do
  if fields(conditions[i]).type == "StorageMigrated" then migrated = conditions[i] end
end
if migrated == nil then
  return verdict("Progressing", "Moult has not looked at this CRD yet")
end

local message = text(migrated.message)
local function say(instead)
  if message == "" then return instead end
  return message
end

if not current(migrated) then
  return verdict("Progressing", "Moult has not looked at this generation yet; last: " .. say("nothing"))
end
if migrated.status == "True" then
  return verdict("Healthy", say("all objects are stored at the storage version"))
end
if migrated.reason == "StorageVersionNotServed" then
  return verdict("Degraded", say("the storage version is not served"))
end
if migrated.reason == "FieldsWouldBeLost" then
  return verdict("Degraded", say("objects would lose fields"))
end
return verdict("Progressing", say("not all objects are proved to be stored at the storage version"))
