-- What `knotless capture` says of a frame, as fields of Wireshark and tshark.
--
-- tshark -X lua_script:knotless.lua -r FILE -Y 'knotless.drop_cause == "tail_drop"'
--
-- Each packet of a capture has a comment that begins with `knotless:`, names and values. This
-- reads it, since the options of pcapng that are not comments cannot be seen from Lua.

local knotless = Proto("knotless", "Knotless")

local dirs = "What happened: in, out, drop, punt, pause"
local fields = {
    dir = ProtoField.string("knotless.dir", "Event", base.NONE, dirs),
    verdict = ProtoField.string("knotless.verdict", "Verdict"),
    drop_cause = ProtoField.string("knotless.drop_cause", "Drop cause"),
    punt_cause = ProtoField.string("knotless.punt_cause", "Punt cause"),
    in_port = ProtoField.string("knotless.in_port", "Ingress port"),
    out_port = ProtoField.string("knotless.out_port", "Egress port"),
    in_class = ProtoField.uint8("knotless.in_class", "Ingress priority"),
    out_class = ProtoField.uint8("knotless.out_class", "Egress priority"),
    in_tag = ProtoField.uint8("knotless.in_tag", "Ingress tag"),
    out_tag = ProtoField.uint8("knotless.out_tag", "Egress tag"),
    rule = ProtoField.uint32("knotless.rule", "Rule"),
    viq_bytes = ProtoField.uint32("knotless.viq_bytes", "VIQ bytes"),
    headroom_bytes = ProtoField.uint32("knotless.headroom_bytes", "Headroom bytes"),
    veq_bytes = ProtoField.uint32("knotless.veq_bytes", "VEQ bytes"),
    veq_frames = ProtoField.uint32("knotless.veq_frames", "VEQ frames"),
    rx_paused = ProtoField.uint8("knotless.rx_paused", "Paused by the peer", base.HEX),
    tx_paused = ProtoField.uint8("knotless.tx_paused", "Paused upstream", base.HEX),
    waited_ns = ProtoField.uint32("knotless.waited_ns", "Waited (ns)"),
    worker = ProtoField.uint8("knotless.worker", "Worker"),
    missed = ProtoField.uint32("knotless.missed", "Events missed before"),
}
-- In the order in which they are shown.
local order = {
    "dir", "verdict", "drop_cause", "punt_cause", "in_port", "out_port", "in_class", "out_class",
    "in_tag", "out_tag", "rule", "viq_bytes", "headroom_bytes", "veq_bytes", "veq_frames",
    "rx_paused", "tx_paused", "waited_ns", "worker", "missed",
}
local is_text = {
    dir = true, verdict = true, drop_cause = true, punt_cause = true, in_port = true, out_port = true,
}
knotless.fields = fields

local comments = Field.new("frame.comment")

function knotless.dissector(_, _, tree)
    for _, comment in ipairs({ comments() }) do
        local list = tostring(comment.value):match("^knotless: (.*)$")
        if list then
            local values = {}
            for name, value in list:gmatch("(%S+)=(%S+)") do
                values[name] = value
            end
            local text = "Knotless: " .. (values.verdict or "?")
            local cause = values.drop_cause or values.punt_cause
            if cause then
                text = text .. ", " .. cause
            end
            local branch = tree:add(knotless, text)
            for _, name in ipairs(order) do
                local value = values[name]
                if value and not is_text[name] then
                    value = tonumber(value)
                end
                if value then
                    branch:add(fields[name], value):set_generated()
                end
            end
        end
    end
end

-- The second argument has the fields made even if nothing else asks for them.
register_postdissector(knotless, true)
